import type { TimestampType } from '../../port/record.js';
import { errorReasonOf } from '../../port/error-text.js';
import { VarintCursor } from '../bytes.js';
import { CodecRegistry } from '../codecs.js';
import { CODEC, type RecordInflater } from '../codecs/record-codec.js';
import type { BatchHeader } from './batch-header.js';
import { BATCH, MIN_RECORD_BYTES } from './batch-layout.js';
import type { RecordBounds } from './log-record.js';
import { MalformedBytesError } from '../malformed-bytes-error.js';

export interface InflateLimits {
  readonly codecs: CodecRegistry;
  readonly maxInflatedBytes: number;
}

/**
 * Finds the parts of each record in the records section of a batch, one record after the other.
 * Allocates nothing: each `read` writes its results into the fields of this object. A record with
 * its headers is validated completely before `read` returns, so that later code needs no checks.
 * Throws only MalformedBytesError.
 */
export class RecordDecoder extends VarintCursor implements RecordBounds {
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
  timestampType: TimestampType = 'CreateTime';

  constructor(
    bytes: Buffer,
    start: number,
    /** The position after the last record. */
    readonly end: number,
  ) {
    super(bytes, start, end);
  }

  read(): void {
    this.limit = this.end;
    const length = this.varint();
    this.recordStart = this.position;
    this.recordEnd = this.position + length;
    if (length < 1 || this.recordEnd > this.end) {
      throw new MalformedBytesError(
        `a record claims ${length} bytes, the batch has ${this.end - this.recordStart} left`,
      );
    }
    // The limit ends at the record, so that a broken length cannot reach into the next record.
    this.limit = this.recordEnd;
    this.position++;
    this.timestampDelta = this.varlong();
    this.offsetDelta = this.varint();
    this.keyLength = this.partLength('key');
    this.keyStart = this.position;
    if (this.keyLength > 0) this.position += this.keyLength;
    this.valueLength = this.partLength('value');
    this.valueStart = this.position;
    if (this.valueLength > 0) this.position += this.valueLength;
    this.headerCount = this.varint();
    this.headersStart = this.position;
    this.headersEnd = this.recordEnd;
    if (this.headerCount !== 0) this.skipHeaders();
    if (this.position !== this.recordEnd) {
      throw new MalformedBytesError('a record is longer than the sum of its parts');
    }
  }

  private skipHeaders(): void {
    const count = this.headerCount;
    // A header takes at least two bytes, so this check limits the loop by the bytes that exist.
    if (count < 0 || count * 2 > this.recordEnd - this.position) {
      throw new MalformedBytesError(`a record claims ${count} headers, more than its bytes hold`);
    }
    for (let index = 0; index < count; index++) {
      const keyLength = this.partLength('header key');
      if (keyLength < 0) throw new MalformedBytesError('a header has no key');
      this.position += keyLength;
      const valueLength = this.partLength('header value');
      if (valueLength > 0) this.position += valueLength;
    }
  }

  /**
   * Reads a length and checks that the record has that many bytes left. The length -1 is Kafka's
   * null.
   */
  private partLength(part: string): number {
    const length = this.varint();
    if (length < -1 || length > this.recordEnd - this.position) {
      throw new MalformedBytesError(
        `a ${part} claims ${length} bytes, its record has ${this.recordEnd - this.position} left`,
      );
    }
    return length;
  }
}

/**
 * Returns a decoder for the records of a validated batch. Compressed records are decompressed
 * first.
 */
export function openRecords(header: BatchHeader, limits: InflateLimits): RecordDecoder {
  const start = header.start + BATCH.records;
  const decoder =
    header.codec === CODEC.none
      ? new RecordDecoder(header.bytes, start, header.end)
      : decoderOf(inflate(header.bytes.subarray(start, header.end), header.codec, limits));
  const size = decoder.end - decoder.position;
  if (header.count * MIN_RECORD_BYTES > size) {
    throw new MalformedBytesError(
      `it claims ${header.count} records, its ${size} bytes cannot hold so many`,
    );
  }
  return decoder;
}

function decoderOf(records: Buffer): RecordDecoder {
  return new RecordDecoder(records, 0, records.length);
}

function inflate(block: Buffer, id: number, limits: InflateLimits): Buffer {
  // A batch without records may keep its codec without a compressed block.
  if (block.length === 0) return block;
  const name = CodecRegistry.nameOf(id);
  const codec = limits.codecs.find(id);
  if (codec === undefined) {
    throw new MalformedBytesError(`it is compressed with ${name}, which this driver does not read`);
  }
  return inflateWith(codec, block, limits.maxInflatedBytes);
}

function inflateWith(codec: RecordInflater, block: Buffer, maxBytes: number): Buffer {
  try {
    return codec.inflate(block, maxBytes);
  } catch (cause) {
    throw new MalformedBytesError(
      `its ${codec.name} block of ${block.length} bytes is broken, or inflates beyond ${maxBytes} bytes (maxInflatedBytes): ${errorReasonOf(cause)}`,
      { cause },
    );
  }
}
