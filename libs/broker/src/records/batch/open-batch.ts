import type { BatchHeader } from './batch-header.js';
import type { HeaderNameCache } from '../header-name-cache.js';
import { LogRecord } from './log-record.js';
import { MalformedBytesError } from '../malformed-bytes-error.js';
import { CHUNK_BYTES, type RecordChunks } from './record-chunks.js';
import type { RecordDecoder } from './record-decoder.js';

/** Properties that all records of one reader share. */
export interface RecordOrigin {
  readonly topic: string;
  readonly partition: number;
  readonly names: HeaderNameCache;
  readonly chunks: RecordChunks;
}

const NO_CHUNK = Buffer.alloc(0);

/** A batch whose records are being read. */
export class OpenBatch {
  /** The first offset after the batch. */
  readonly nextOffset: number;
  remaining: number;
  private readonly baseOffset: number;
  private readonly lastOffsetDelta: number;
  private readonly leaderEpoch: number;
  private readonly baseTimestamp: number;
  /** The broker's timestamp, which applies to all records of a batch with LogAppendTime. */
  private readonly appendTime: number | undefined;
  private previousDelta = -1;
  private chunk: Buffer = NO_CHUNK;
  /** The difference between a position in the records section and its position in the chunk. */
  private shift = 0;
  private copiedUpTo = 0;

  constructor(
    private readonly origin: RecordOrigin,
    header: BatchHeader,
    private readonly decoder: RecordDecoder,
  ) {
    this.baseOffset = header.baseOffset;
    this.lastOffsetDelta = header.lastOffsetDelta;
    this.nextOffset = header.lastOffset + 1;
    this.leaderEpoch = header.leaderEpoch;
    this.remaining = header.count;
    this.appendTime = header.isLogAppendTime ? header.maxTimestamp : undefined;
    this.baseTimestamp = this.appendTime ?? header.baseTimestamp;
  }

  /**
   * Returns the next record, copied out of the response; undefined for a record below `position`.
   */
  next(position: number): LogRecord | undefined {
    const decoder = this.decoder;
    decoder.read();
    const offset = this.baseOffset + this.checkedDelta(decoder.offsetDelta);
    const timestamp = this.timestampOf(decoder.timestampDelta);
    this.remaining--;
    if (offset < position) return undefined;
    if (decoder.recordEnd > this.copiedUpTo) this.copyRecords();
    return new LogRecord(
      this.origin.topic,
      this.origin.partition,
      offset,
      timestamp,
      this.leaderEpoch,
      this.chunk,
      this.origin.names,
      decoder,
      this.shift,
    );
  }

  /** Throws if bytes are left after the last record: a broken count may hide records there. */
  requireNothingLeft(): void {
    if (this.decoder.rest === 0) return;
    throw new MalformedBytesError(
      `${this.decoder.rest} bytes follow the last of the records it claims`,
    );
  }

  /**
   * Checks that offsets increase and stay within the batch. Otherwise a record would be delivered
   * twice or skipped.
   */
  private checkedDelta(delta: number): number {
    if (delta <= this.previousDelta || delta > this.lastOffsetDelta) {
      throw new MalformedBytesError(
        `a record's offset delta is ${delta}, after ${this.previousDelta} and up to ${this.lastOffsetDelta}`,
      );
    }
    this.previousDelta = delta;
    return delta;
  }

  private timestampOf(delta: number): number {
    if (this.appendTime !== undefined) return this.appendTime;
    const timestamp = this.baseTimestamp + delta;
    if (!Number.isSafeInteger(timestamp)) {
      throw new MalformedBytesError('a timestamp is beyond 2^53 - 1');
    }
    return timestamp;
  }

  /**
   * Copies this record and as many following records as fit into a chunk: one copy for many
   * records.
   */
  private copyRecords(): void {
    const { bytes, recordStart, recordEnd, end } = this.decoder;
    const own = recordEnd - recordStart;
    // A large record is copied alone, because its neighbours would be truncated and copied again.
    const size = own > CHUNK_BYTES / 4 ? own : Math.min(end - recordStart, CHUNK_BYTES);
    const chunk = this.origin.chunks.take(size);
    bytes.copy(chunk.bytes, chunk.start, recordStart, recordStart + size);
    this.chunk = chunk.bytes;
    this.shift = chunk.start - recordStart;
    this.copiedUpTo = recordStart + size;
  }
}
