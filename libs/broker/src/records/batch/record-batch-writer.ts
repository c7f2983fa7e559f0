import { InvalidOptionError } from '../../port/errors.js';
import type { OutgoingHeader } from '../../port/record.js';
import { ATTRIBUTE, BATCH, FRAME_BYTES, MAGIC } from './batch-layout.js';
import { sizeOfVarint, writeSafeInt64, writeVarint, writeVarlong } from '../bytes.js';
import type { RecordCodec } from '../codecs/record-codec.js';
import { sealBatch, type ProducerStamp } from './encoded-batch.js';
import { maxSizeOfRecord, type RecordContent } from './record-size.js';

export interface BatchOptions extends Partial<ProducerStamp> {
  /** Default 0. The broker writes the real offset. */
  readonly baseOffset?: number;
  /** Default -1. The broker writes the real epoch. */
  readonly leaderEpoch?: number;
  /** Default: the delta of the last record. Larger if compaction removed the last records. */
  readonly lastOffsetDelta?: number;
  readonly transactional?: boolean;
  readonly control?: boolean;
  /** Default: the records are not compressed. */
  readonly codec?: RecordCodec;
}

const DEFAULT_CAPACITY = 4096;
/** Up to this length a loop is faster than a call into native code. */
const SHORT_TEXT = 40;
const SHORT_BYTES = 16;

/**
 * Builds one record batch: `append` writes each record to its final position, and `finish` writes
 * the header. A writer builds one batch only. `finish` returns the writer's own buffer, not a copy.
 */
export class RecordBatchWriter {
  /** The number of records. Only the writer sets this field and the other fields. */
  count = 0;
  /** The current size of the batch, before compression. */
  sizeInBytes: number = BATCH.records;
  /** The largest timestamp of the records; -1 if there are no records. */
  maxTimestamp = -1;
  private bytes: Buffer;
  private lastDelta = -1;
  private baseTimestamp = -1;

  /**
   * Creates a writer. `capacity` should be near the expected size of the batch, so that the buffer
   * need not grow.
   */
  constructor(capacity = DEFAULT_CAPACITY) {
    this.bytes = Buffer.allocUnsafeSlow(Math.max(capacity, BATCH.records));
  }

  /**
   * Adds a record and returns its size in bytes. The offset delta may skip ahead, as after
   * compaction. If the record cannot be written, `append` throws and the batch keeps its state.
   * `bound` is the `maxSizeOfRecord`, from a caller that knows it.
   */
  append(
    record: RecordContent,
    timestamp: number,
    offsetDelta = this.lastDelta + 1,
    bound = maxSizeOfRecord(record),
  ): number {
    if (this.sizeInBytes + bound > this.bytes.length) this.grow(bound);
    const start = this.sizeInBytes;
    const base = this.count === 0 ? timestamp : this.baseTimestamp;
    requireTime(timestamp, timestamp - base);
    // The length field precedes the record, but its value is known only after the record is
    // written. The size of the field is estimated from the upper bound of the record size.
    const guess = sizeOfVarint(bound);
    const end = this.writeBody(record, start + guess, timestamp - base, offsetDelta);
    const length = end - start - guess;
    const prefix = sizeOfVarint(length);
    if (prefix !== guess) this.bytes.copyWithin(start + prefix, start + guess, end);
    writeVarint(this.bytes, start, length);
    this.sizeInBytes = start + prefix + length;
    this.baseTimestamp = base;
    this.maxTimestamp = this.count === 0 ? timestamp : Math.max(this.maxTimestamp, timestamp);
    this.lastDelta = offsetDelta;
    this.count++;
    return prefix + length;
  }

  /** Returns the batch with its header filled in. */
  finish(options: BatchOptions = {}): Buffer {
    const batch =
      options.codec === undefined ? this.uncompressed() : this.compressed(options.codec);
    writeSafeInt64(batch, BATCH.baseOffset, options.baseOffset ?? 0);
    batch.writeInt32BE(batch.length - FRAME_BYTES, BATCH.length);
    batch.writeInt32BE(options.leaderEpoch ?? -1, BATCH.leaderEpoch);
    batch.writeInt8(MAGIC, BATCH.magic);
    batch.writeInt16BE(attributesOf(options), BATCH.attributes);
    batch.writeInt32BE(
      options.lastOffsetDelta ?? Math.max(this.lastDelta, 0),
      BATCH.lastOffsetDelta,
    );
    writeSafeInt64(batch, BATCH.baseTimestamp, this.baseTimestamp);
    writeSafeInt64(batch, BATCH.maxTimestamp, this.maxTimestamp);
    batch.writeBigInt64BE(options.producerId ?? -1n, BATCH.producerId);
    batch.writeInt16BE(options.producerEpoch ?? -1, BATCH.producerEpoch);
    batch.writeInt32BE(options.baseSequence ?? -1, BATCH.baseSequence);
    batch.writeInt32BE(this.count, BATCH.count);
    sealBatch(batch);
    return batch;
  }

  private uncompressed(): Buffer {
    return this.bytes.subarray(0, this.sizeInBytes);
  }

  private compressed(codec: RecordCodec): Buffer {
    const block = codec.compress(this.bytes.subarray(BATCH.records, this.sizeInBytes));
    const batch = Buffer.allocUnsafeSlow(BATCH.records + block.length);
    batch.set(block, BATCH.records);
    return batch;
  }

  private writeBody(
    record: RecordContent,
    start: number,
    timestampDelta: number,
    offsetDelta: number,
  ): number {
    const bytes = this.bytes;
    const headers = record.headers;
    bytes[start] = 0;
    let at = writeVarlong(bytes, start + 1, timestampDelta);
    at = writeVarint(bytes, at, offsetDelta);
    at = writePart(bytes, at, record.key ?? null);
    at = writePart(bytes, at, record.value);
    if (headers === undefined) return writeVarint(bytes, at, 0);
    at = writeVarint(bytes, at, headers.length);
    for (let index = 0; index < headers.length; index++) {
      const header = headers[index];
      if (header === undefined) continue;
      at = writeHeaderKey(bytes, at, header);
      at = writePart(bytes, at, header.value);
    }
    return at;
  }

  private grow(bytes: number): void {
    const larger = Buffer.allocUnsafeSlow(
      Math.max(this.bytes.length * 2, this.sizeInBytes + bytes),
    );
    larger.set(this.bytes.subarray(0, this.sizeInBytes));
    this.bytes = larger;
  }
}

function attributesOf(options: BatchOptions): number {
  return (
    (options.codec?.id ?? 0) |
    (options.transactional === true ? ATTRIBUTE.transactional : 0) |
    (options.control === true ? ATTRIBUTE.control : 0)
  );
}

function requireTime(timestamp: number, delta: number): void {
  if (Number.isSafeInteger(timestamp) && Number.isSafeInteger(delta)) return;
  throw new InvalidOptionError(
    `A record's timestamp is a whole number of milliseconds, not too far from that of its neighbours; this one is ${timestamp}. Pass such a number, or leave it out.`,
  );
}

/** Writes the key of a header. Kafka allows null for header values, but not for header keys. */
function writeHeaderKey(bytes: Buffer, at: number, { key, keyBytes }: OutgoingHeader): number {
  if (keyBytes !== undefined) return writePart(bytes, at, keyBytes);
  if (typeof key === 'string') return writeText(bytes, at, key);
  throw new InvalidOptionError(
    `A header's key is a string; this one is of type ${typeof key}. Pass a string.`,
  );
}

function writePart(bytes: Buffer, at: number, part: Buffer | string | null): number {
  if (part === null) return writeVarint(bytes, at, -1);
  if (typeof part === 'string') return writeText(bytes, at, part);
  if (!(part instanceof Uint8Array)) {
    throw new InvalidOptionError(
      `A record's key, value and header values are Buffers, strings or null; this one is of type ${typeof part}. Pass one of these.`,
    );
  }
  const start = writeVarint(bytes, at, part.length);
  if (part.length > SHORT_BYTES) bytes.set(part, start);
  else
    for (let index = 0; index < part.length; index++) bytes[start + index] = part[index] as number;
  return start + part.length;
}

function writeText(bytes: Buffer, at: number, text: string): number {
  if (text.length <= SHORT_TEXT) {
    const end = writeShortAscii(bytes, at, text);
    if (end !== undefined) return end;
  }
  const guess = sizeOfVarint(text.length);
  const written = bytes.write(text, at + guess, 'utf8');
  const prefix = sizeOfVarint(written);
  if (prefix !== guess) bytes.copyWithin(at + prefix, at + guess, at + guess + written);
  return writeVarint(bytes, at, written) + written;
}

/**
 * Writes ASCII characters in a loop. Returns undefined at the first character that takes more than
 * one byte.
 */
function writeShortAscii(bytes: Buffer, at: number, text: string): number | undefined {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code > 0x7f) return undefined;
    bytes[at + 1 + index] = code;
  }
  bytes[at] = text.length << 1;
  return at + 1 + text.length;
}
