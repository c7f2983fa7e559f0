import { MalformedResponseError } from '../../port/errors.js';

/**
 * Reads fields that group members send to each other. Every length is checked against the remaining
 * bytes, because any client can join the group, and the broker does not validate these bytes.
 */
export class FieldReader {
  #position = 0;

  constructor(private readonly bytes: Buffer) {}

  get atEnd(): boolean {
    return this.#position === this.bytes.length;
  }

  int16(): number {
    return this.bytes.readInt16BE(this.#advance(2));
  }

  int32(): number {
    return this.bytes.readInt32BE(this.#advance(4));
  }

  string(): string {
    const text = this.nullableString();
    if (text === null) throw new MalformedResponseError('A name in it is null.');
    return text;
  }

  nullableString(): string | null {
    const length = this.int16();
    return length === -1 ? null : this.#next(length).toString('utf8');
  }

  /** Returns a copy, so that a few bytes do not keep a whole response in memory. */
  nullableBytes(): Buffer | null {
    const length = this.int32();
    return length === -1 ? null : Buffer.from(this.#next(length));
  }

  /** Reads a list; null is read as an empty list. */
  list<T>(read: () => T): T[] {
    const count = this.int32();
    const left = this.bytes.length - this.#position;
    if (count < -1 || count > left)
      throw new MalformedResponseError(`It announces ${count} items in ${left} bytes.`);
    const items: T[] = [];
    for (let index = 0; index < count; index++) items.push(read());
    return items;
  }

  #next(length: number): Buffer {
    const from = this.#advance(length);
    return this.bytes.subarray(from, from + length);
  }

  #advance(length: number): number {
    const from = this.#position;
    const end = from + length;
    if (length < 0 || end > this.bytes.length)
      throw new MalformedResponseError(
        `It has ${this.bytes.length} bytes and announces a field from ${from} to ${end}.`,
      );
    this.#position = end;
    return from;
  }
}
