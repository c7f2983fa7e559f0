import type { BatchHeader } from './batch-header.js';
import type { HeaderNameCache } from '../header-name-cache.js';
import { LogRecord } from './log-record.js';
import { MalformedBytesError } from '../malformed-bytes-error.js';
import type { RecordDecoder } from './record-decoder.js';

/**
 * The size of a shared chunk. A retained record keeps at most this much memory, or its own size if
 * that is larger.
 */
export const CHUNK_BYTES = 16 * 1024;

/**
 * A range of memory that belongs to records; `start` is the position of the requested bytes in it.
 */
export interface RecordChunk {
  readonly bytes: Buffer;
  readonly start: number;
}

/**
 * Allocates the memory into which records are copied from a fetch response. A large piece gets
 * memory of exactly its size. Small pieces share a chunk, so that a slow stream of single records
 * does not use one chunk per record. One instance may serve any number of readers.
 */
export class RecordChunks {
  private shared: Buffer | undefined;
  private used = 0;

  take(size: number): RecordChunk {
    if (size > CHUNK_BYTES / 2) return { bytes: Buffer.allocUnsafeSlow(size), start: 0 };
    if (this.shared === undefined || this.used + size > this.shared.length) {
      this.shared = Buffer.allocUnsafeSlow(CHUNK_BYTES);
      this.used = 0;
    }
    const start = this.used;
    this.used += size;
    return { bytes: this.shared, start };
  }
}

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
  /**
   * The number that is added to a position in the records section to get the position in the chunk.
   */
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
    if (header.isLogAppendTime) decoder.timestampType = 'LogAppendTime';
  }

  /**
   * Returns the next record, copied out of the response; undefined if its offset is below
   * `position`. Offsets must increase and be in the range of the batch. Otherwise a record would be
   * delivered twice or skipped.
   */
  next(position: number): LogRecord | undefined {
    const decoder = this.decoder;
    decoder.read();
    const delta = decoder.offsetDelta;
    if (delta <= this.previousDelta || delta > this.lastOffsetDelta) {
      throw new MalformedBytesError(
        `a record's offset delta is ${delta}, after ${this.previousDelta} and up to ${this.lastOffsetDelta}`,
      );
    }
    this.previousDelta = delta;
    const timestamp = this.appendTime ?? this.baseTimestamp + decoder.timestampDelta;
    if (!Number.isSafeInteger(timestamp)) {
      throw new MalformedBytesError('a timestamp is beyond 2^53 - 1');
    }
    this.remaining--;
    const offset = this.baseOffset + delta;
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

  /**
   * Throws if bytes follow the last record, because a wrong record count may hide records in them.
   */
  requireNothingLeft(): void {
    const left = this.decoder.end - this.decoder.position;
    if (left === 0) return;
    throw new MalformedBytesError(`${left} bytes follow the last of the records it claims`);
  }

  /**
   * Copies this record together with all following records that fit into a chunk, because one copy
   * is faster than many.
   */
  private copyRecords(): void {
    const { bytes, recordStart, recordEnd, end } = this.decoder;
    const own = recordEnd - recordStart;
    // A large record is copied alone, because the records after it would only partly fit and be
    // copied again.
    const size = own > CHUNK_BYTES / 4 ? own : Math.min(end - recordStart, CHUNK_BYTES);
    const chunk = this.origin.chunks.take(size);
    bytes.copy(chunk.bytes, chunk.start, recordStart, recordStart + size);
    this.chunk = chunk.bytes;
    this.shift = chunk.start - recordStart;
    this.copiedUpTo = recordStart + size;
  }
}
