import { ATTRIBUTE, BATCH, FRAME_BYTES } from './batch-layout.js';
import { readSafeInt64 } from '../bytes.js';
import { crc32c } from '../crc32c.js';

/**
 * The header of a complete encoded batch (see `readBatchHeader`). A view of the batch's bytes,
 * which must not be used after the bytes are overwritten. A getter throws MalformedBytesError if
 * its number exceeds 2^53 - 1.
 */
export class BatchHeader {
  readonly attributes: number;
  /**
   * The number of records. Compaction removes records but keeps the offset range, so the number may
   * be smaller than `lastOffsetDelta + 1`.
   */
  readonly count: number;
  readonly lastOffsetDelta: number;
  readonly leaderEpoch: number;

  constructor(
    readonly bytes: Buffer,
    /** The position of the batch in `bytes`. */
    readonly start = 0,
  ) {
    this.leaderEpoch = bytes.readInt32BE(start + BATCH.leaderEpoch);
    this.attributes = bytes.readInt16BE(start + BATCH.attributes);
    this.lastOffsetDelta = bytes.readInt32BE(start + BATCH.lastOffsetDelta);
    this.count = bytes.readInt32BE(start + BATCH.count);
  }

  get baseOffset(): number {
    return readSafeInt64(this.bytes, this.start + BATCH.baseOffset);
  }
  get lastOffset(): number {
    return this.baseOffset + this.lastOffsetDelta;
  }
  /** The position after the batch in `bytes`. */
  get end(): number {
    return this.start + FRAME_BYTES + this.bytes.readInt32BE(this.start + BATCH.length);
  }
  get sizeInBytes(): number {
    return this.end - this.start;
  }
  get baseTimestamp(): number {
    return readSafeInt64(this.bytes, this.start + BATCH.baseTimestamp);
  }
  get maxTimestamp(): number {
    return readSafeInt64(this.bytes, this.start + BATCH.maxTimestamp);
  }
  /** The full 64-bit id; -1n without idempotence. */
  get producerId(): bigint {
    return this.bytes.readBigInt64BE(this.start + BATCH.producerId);
  }
  get producerEpoch(): number {
    return this.bytes.readInt16BE(this.start + BATCH.producerEpoch);
  }
  get baseSequence(): number {
    return this.bytes.readInt32BE(this.start + BATCH.baseSequence);
  }
  get codec(): number {
    return this.attributes & ATTRIBUTE.codec;
  }
  get isLogAppendTime(): boolean {
    return (this.attributes & ATTRIBUTE.logAppendTime) !== 0;
  }
  get isTransactional(): boolean {
    return (this.attributes & ATTRIBUTE.transactional) !== 0;
  }
  get isControl(): boolean {
    return (this.attributes & ATTRIBUTE.control) !== 0;
  }
  get hasDeleteHorizon(): boolean {
    return (this.attributes & ATTRIBUTE.deleteHorizon) !== 0;
  }

  isCrcRight(): boolean {
    const stated = this.bytes.readUInt32BE(this.start + BATCH.crc);
    return stated === crc32c(this.bytes, this.start + BATCH.attributes, this.end);
  }
}
