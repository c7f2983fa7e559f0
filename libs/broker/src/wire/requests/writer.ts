/** Writes Kafka's primitive types into one growing buffer. */
export class Writer {
  #bytes: Buffer;
  #length = 0;

  constructor(initialSize = 256) {
    this.#bytes = Buffer.allocUnsafe(initialSize);
  }

  get length(): number {
    return this.#length;
  }

  toBuffer(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  int8(value: number): this {
    const at = this.#reserve(1);
    this.#bytes.writeInt8(value, at);
    return this;
  }

  int16(value: number): this {
    const at = this.#reserve(2);
    this.#bytes.writeInt16BE(value, at);
    return this;
  }

  int32(value: number): this {
    const at = this.#reserve(4);
    this.#bytes.writeInt32BE(value, at);
    return this;
  }

  /**
   * Replaces four bytes that were written before, such as a length that is known only afterwards.
   */
  setInt32(at: number, value: number): this {
    this.#bytes.writeInt32BE(value, at);
    return this;
  }

  int64(value: number | bigint): this {
    const at = this.#reserve(8);
    this.#bytes.writeBigInt64BE(BigInt(value), at);
    return this;
  }

  boolean(value: boolean): this {
    return this.int8(value ? 1 : 0);
  }

  unsignedVarint(value: number): this {
    let rest = value;
    while (rest > 0x7f) {
      this.#byte((rest & 0x7f) | 0x80);
      rest = Math.floor(rest / 128);
    }
    return this.#byte(rest);
  }

  string(value: string): this {
    return this.int16(Buffer.byteLength(value)).#text(value);
  }

  nullableString(value: string | null): this {
    return value === null ? this.int16(-1) : this.string(value);
  }

  compactString(value: string): this {
    return this.unsignedVarint(Buffer.byteLength(value) + 1).#text(value);
  }

  compactNullableString(value: string | null): this {
    return value === null ? this.unsignedVarint(0) : this.compactString(value);
  }

  bytes(value: Buffer): this {
    return this.int32(value.length).raw(value);
  }

  compactBytes(value: Buffer): this {
    return this.unsignedVarint(value.length + 1).raw(value);
  }

  raw(value: Buffer): this {
    const at = this.#reserve(value.length);
    value.copy(this.#bytes, at);
    return this;
  }

  array<T>(items: readonly T[], write: (item: T) => void): this {
    this.int32(items.length);
    for (const item of items) write(item);
    return this;
  }

  compactArray<T>(items: readonly T[] | null, write: (item: T) => void): this {
    this.unsignedVarint(items === null ? 0 : items.length + 1);
    for (const item of items ?? []) write(item);
    return this;
  }

  noTags(): this {
    return this.#byte(0);
  }

  #byte(value: number): this {
    const at = this.#reserve(1);
    this.#bytes[at] = value;
    return this;
  }

  #text(value: string): this {
    const at = this.#reserve(Buffer.byteLength(value));
    this.#bytes.write(value, at);
    return this;
  }

  #reserve(length: number): number {
    const at = this.#length;
    const needed = at + length;
    if (needed > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
      this.#bytes.copy(grown, 0, 0, at);
      this.#bytes = grown;
    }
    this.#length = needed;
    return at;
  }
}
