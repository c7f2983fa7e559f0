import type { BrokerRecord, RecordHeader, TimestampType } from '../../port/record.js';
import { VarintCursor } from '../bytes.js';
import type { HeaderNameCache } from '../header-name-cache.js';

/**
 * Positions of the parts of one record, found and bounds-checked by the decoder. A length of -1
 * means null.
 */
export interface RecordBounds {
  keyStart: number;
  keyLength: number;
  valueStart: number;
  valueLength: number;
  headersStart: number;
  headersEnd: number;
  headerCount: number;
  /** The same for all records of a batch. */
  timestampType: TimestampType;
}

const NO_HEADERS: readonly RecordHeader[] = Object.freeze([]);

/**
 * A record whose bytes are in a chunk. Key, value and headers become objects at first access,
 * because most callers use only one of the three, and creating a view costs more than decoding the
 * record. All bounds were checked before, so no getter can throw.
 */
export class LogRecord implements BrokerRecord {
  readonly timestampType: TimestampType;
  readonly #chunk: Buffer;
  readonly #names: HeaderNameCache;
  readonly #keyStart: number;
  readonly #keyLength: number;
  readonly #valueStart: number;
  readonly #valueLength: number;
  readonly #headersStart: number;
  readonly #headersEnd: number;
  readonly #headerCount: number;
  #keyView: Buffer | undefined = undefined;
  #valueView: Buffer | undefined = undefined;
  #decodedHeaders: readonly RecordHeader[] | undefined = undefined;

  /**
   * Copies `bounds`, because the decoder reuses that object. `shift` is added to the positions to
   * get positions in `chunk`.
   */
  constructor(
    readonly topic: string,
    readonly partition: number,
    readonly offset: number,
    readonly timestamp: number,
    readonly leaderEpoch: number,
    chunk: Buffer,
    names: HeaderNameCache,
    bounds: RecordBounds,
    shift: number,
  ) {
    this.timestampType = bounds.timestampType;
    this.#chunk = chunk;
    this.#names = names;
    this.#keyStart = bounds.keyStart + shift;
    this.#keyLength = bounds.keyLength;
    this.#valueStart = bounds.valueStart + shift;
    this.#valueLength = bounds.valueLength;
    this.#headersStart = bounds.headersStart + shift;
    this.#headersEnd = bounds.headersEnd + shift;
    this.#headerCount = bounds.headerCount;
  }

  get key(): Buffer | null {
    if (this.#keyLength < 0) return null;
    return (this.#keyView ??= this.#chunk.subarray(
      this.#keyStart,
      this.#keyStart + this.#keyLength,
    ));
  }

  get value(): Buffer | null {
    if (this.#valueLength < 0) return null;
    return (this.#valueView ??= this.#chunk.subarray(
      this.#valueStart,
      this.#valueStart + this.#valueLength,
    ));
  }

  get headers(): readonly RecordHeader[] {
    if (this.#headerCount === 0) return NO_HEADERS;
    return (this.#decodedHeaders ??= this.#decodeHeaders());
  }

  /** Compares bytes only where the length fits, and creates no object. */
  hasHeader(name: Buffer): boolean {
    const chunk = this.#chunk;
    let at = this.#headersStart;
    for (let index = 0; index < this.#headerCount; index++) {
      const keyLength = varintAt(chunk, at);
      const keyStart = endOfVarint(chunk, at);
      const keyEnd = keyStart + keyLength;
      if (keyLength === name.length && chunk.compare(name, 0, keyLength, keyStart, keyEnd) === 0)
        return true;
      const valueLength = varintAt(chunk, keyEnd);
      at = endOfVarint(chunk, keyEnd) + Math.max(0, valueLength);
    }
    return false;
  }

  /** Computes the size from the bounds, without creating a view. */
  get sizeInBytes(): number {
    const headers = this.#headersEnd - this.#headersStart;
    return Math.max(this.#keyLength, 0) + Math.max(this.#valueLength, 0) + headers;
  }

  #decodeHeaders(): RecordHeader[] {
    const cursor = new VarintCursor(this.#chunk, this.#headersStart, this.#headersEnd);
    const headers = new Array<RecordHeader>(this.#headerCount);
    for (let index = 0; index < headers.length; index++) {
      const keyLength = cursor.varint();
      const keyStart = cursor.position;
      const keyEnd = keyStart + keyLength;
      cursor.position = keyEnd;
      const length = cursor.varint();
      const value =
        length < 0 ? null : this.#chunk.subarray(cursor.position, cursor.position + length);
      if (length > 0) cursor.position += length;
      headers[index] = this.#names.headerOf(this.#chunk, keyStart, keyEnd, value);
    }
    return headers;
  }
}

/** Reads a varint that the decoder has checked before. */
function varintAt(bytes: Buffer, at: number): number {
  let zigzag = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++]!;
    zigzag |= (byte & 0x7f) << shift;
    if (byte < 0x80) return (zigzag >>> 1) ^ -(zigzag & 1);
  }
}

function endOfVarint(bytes: Buffer, at: number): number {
  let end = at;
  while (bytes[end]! >= 0x80) end++;
  return end + 1;
}

export function sizeOfAll(records: readonly BrokerRecord[]): number {
  let sum = 0;
  for (const { sizeInBytes } of records) sum += sizeInBytes;
  return sum;
}
