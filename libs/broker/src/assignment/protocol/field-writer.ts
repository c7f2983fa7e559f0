/** Writes fields that group members send to each other. */
export class FieldWriter {
  readonly #parts: Buffer[] = [];

  int16(value: number): this {
    const part = Buffer.alloc(2);
    part.writeInt16BE(value);
    return this.#add(part);
  }

  int32(value: number): this {
    const part = Buffer.alloc(4);
    part.writeInt32BE(value);
    return this.#add(part);
  }

  string(value: string): this {
    const text = Buffer.from(value, 'utf8');
    return this.int16(text.length).#add(text);
  }

  nullableString(value: string | null): this {
    return value === null ? this.int16(-1) : this.string(value);
  }

  nullableBytes(value: Buffer | null): this {
    return value === null ? this.int32(-1) : this.int32(value.length).#add(value);
  }

  list<T>(items: readonly T[], write: (item: T) => void): this {
    this.int32(items.length);
    for (const item of items) write(item);
    return this;
  }

  toBuffer(): Buffer {
    return Buffer.concat(this.#parts);
  }

  #add(part: Buffer): this {
    this.#parts.push(part);
    return this;
  }
}
