import { MalformedResponseError } from '../../port/errors.js';

const NULL_UUID = Buffer.alloc(16);

/**
 * Reads Kafka's primitive types. Every read checks the end of the bytes, so that a wrong length
 * causes an error.
 */
export class Reader {
  #position = 0;

  constructor(private readonly bytes: Buffer) {}

  get remaining(): number {
    return this.bytes.length - this.#position;
  }

  int8(): number {
    return this.bytes.readInt8(this.#advance(1));
  }

  int16(): number {
    return this.bytes.readInt16BE(this.#advance(2));
  }

  int32(): number {
    return this.bytes.readInt32BE(this.#advance(4));
  }

  /** Reads an int64 as a safe integer, which is large enough for every count in the protocol. */
  int64(): number {
    const at = this.#advance(8);
    const value = this.bytes.readInt32BE(at) * 2 ** 32 + this.bytes.readUInt32BE(at + 4);
    if (!Number.isSafeInteger(value))
      throw new MalformedResponseError(
        `The broker answered the 64-bit number ${value}, beyond 2^53.`,
      );
    return value;
  }

  bigint64(): bigint {
    return this.bytes.readBigInt64BE(this.#advance(8));
  }

  boolean(): boolean {
    return this.int8() !== 0;
  }

  uuid(): string | null {
    const bytes = this.raw(16);
    return bytes.equals(NULL_UUID) ? null : bytes.toString('hex');
  }

  unsignedVarint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.bytes[this.#advance(1)] as number;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new MalformedResponseError('The broker answered a length of more than five bytes.');
  }

  string(): string {
    return this.nullableString() ?? '';
  }

  nullableString(): string | null {
    return this.#text(this.int16());
  }

  compactString(): string {
    return this.compactNullableString() ?? '';
  }

  compactNullableString(): string | null {
    return this.#text(this.unsignedVarint() - 1);
  }

  /** Returns a view of the next bytes, or null for length -1. */
  nullableBytes(): Buffer | null {
    const length = this.int32();
    return length === -1 ? null : this.raw(length);
  }

  compactNullableBytes(): Buffer | null {
    const length = this.unsignedVarint() - 1;
    return length === -1 ? null : this.raw(length);
  }

  raw(length: number): Buffer {
    const from = this.#advance(length);
    return this.bytes.subarray(from, from + length);
  }

  array<T>(read: () => T): T[] {
    return this.#items(this.int32(), read);
  }

  compactArray<T>(read: () => T): T[] {
    return this.#items(this.unsignedVarint() - 1, read);
  }

  /** Reads the tagged fields at the end of a flexible structure, as bytes by tag. */
  tags(): ReadonlyMap<number, Buffer> {
    const fields = new Map<number, Buffer>();
    for (let left = this.unsignedVarint(); left > 0; left--) {
      const tag = this.unsignedVarint();
      fields.set(tag, this.raw(this.unsignedVarint()));
    }
    return fields;
  }

  skipTags(): void {
    for (let left = this.unsignedVarint(); left > 0; left--) {
      this.unsignedVarint();
      this.raw(this.unsignedVarint());
    }
  }

  #text(length: number): string | null {
    return length === -1 ? null : this.raw(length).toString('utf8');
  }

  #items<T>(count: number, read: () => T): T[] {
    if (count === -1) return [];
    if (count < 0 || count > this.remaining)
      throw new MalformedResponseError(
        `The broker declared ${count} items in ${this.remaining} bytes.`,
      );
    const items: T[] = [];
    for (let index = 0; index < count; index++) items.push(read());
    return items;
  }

  #advance(length: number): number {
    const from = this.#position;
    if (length < 0 || from + length > this.bytes.length)
      throw new MalformedResponseError(
        `The broker's response ends after ${this.bytes.length} bytes, but ${from + length} were declared.`,
      );
    this.#position = from + length;
    return from;
  }
}
