import { VarintCursor } from '../bytes.js';
import type { RecordBounds } from './log-record.js';
import { MalformedBytesError } from '../malformed-bytes-error.js';

/**
 * Finds the parts of one record after the other in the records section of a batch. Allocates
 * nothing: each `read` writes its results into the fields of this object. A record, including its
 * headers, is validated completely before `read` returns, so that later code needs no checks.
 * Throws only MalformedBytesError.
 */
export class RecordDecoder implements RecordBounds {
  timestampDelta = 0;
  offsetDelta = 0;
  recordStart = 0;
  recordEnd = 0;
  keyStart = 0;
  keyLength = -1;
  valueStart = 0;
  valueLength = -1;
  headersStart = 0;
  headersEnd = 0;
  headerCount = 0;
  private readonly cursor: VarintCursor;
  private sectionEnd: number;

  constructor(
    readonly bytes: Buffer,
    start: number,
    end: number,
  ) {
    this.cursor = new VarintCursor(bytes, start, end);
    this.sectionEnd = end;
  }

  /** The number of unread bytes in the section. */
  get rest(): number {
    return this.sectionEnd - this.cursor.position;
  }

  get end(): number {
    return this.sectionEnd;
  }

  read(): void {
    const cursor = this.cursor;
    cursor.limit = this.sectionEnd;
    const length = cursor.varint();
    this.recordStart = cursor.position;
    this.recordEnd = cursor.position + length;
    if (length < 1 || this.recordEnd > this.sectionEnd) {
      throw new MalformedBytesError(
        `a record claims ${length} bytes, the batch has ${this.sectionEnd - this.recordStart} left`,
      );
    }
    // The limit prevents reads beyond the record, so that a broken part cannot reach the next
    // record.
    cursor.limit = this.recordEnd;
    cursor.position++;
    this.timestampDelta = cursor.varlong();
    this.offsetDelta = cursor.varint();
    this.keyLength = this.partLength('key');
    this.keyStart = cursor.position;
    if (this.keyLength > 0) cursor.position += this.keyLength;
    this.valueLength = this.partLength('value');
    this.valueStart = cursor.position;
    if (this.valueLength > 0) cursor.position += this.valueLength;
    this.readHeaders();
  }

  private readHeaders(): void {
    const cursor = this.cursor;
    const count = cursor.varint();
    this.headerCount = count;
    this.headersStart = cursor.position;
    this.headersEnd = this.recordEnd;
    // A header takes at least two bytes, so this check bounds the loop by the bytes that exist.
    if (count < 0 || count * 2 > this.recordEnd - cursor.position) {
      throw new MalformedBytesError(`a record claims ${count} headers, more than its bytes hold`);
    }
    for (let index = 0; index < count; index++) {
      const keyLength = this.partLength('header key');
      if (keyLength < 0) throw new MalformedBytesError('a header has no key');
      cursor.position += keyLength;
      const valueLength = this.partLength('header value');
      if (valueLength > 0) cursor.position += valueLength;
    }
    if (cursor.position !== this.recordEnd) {
      throw new MalformedBytesError('a record is longer than the sum of its parts');
    }
  }

  /** Reads a length and checks that the record has so many bytes; -1 is Kafka's null. */
  private partLength(part: string): number {
    const length = this.cursor.varint();
    if (length < -1 || length > this.recordEnd - this.cursor.position) {
      throw new MalformedBytesError(
        `a ${part} claims ${length} bytes, its record has ${this.recordEnd - this.cursor.position} left`,
      );
    }
    return length;
  }
}
