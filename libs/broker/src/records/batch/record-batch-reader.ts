import type { Isolation } from '../../port/consumer.js';
import { MalformedResponseError, PoisonBatchError } from '../../port/errors.js';
import type { BrokerRecord } from '../../port/record.js';
import { AbortedTransactions, type AbortedTransaction } from './aborted-transactions.js';
import type { BatchHeader } from './batch-header.js';
import { openRecords, type InflateLimits } from './batch-records.js';
import { readBatchHeader } from './batch-validation.js';
import { standardCodecs, type CodecRegistry } from '../codecs.js';
import { readControlType } from './control-batch.js';
import { HeaderNameCache } from '../header-name-cache.js';
import { MalformedBytesError } from '../malformed-bytes-error.js';
import { OpenBatch, type RecordOrigin } from './open-batch.js';
import { RecordChunks } from './record-chunks.js';

export interface RecordBatchReaderOptions {
  readonly topic: string;
  readonly partition: number;
  /** The requested offset: records below it are skipped. */
  readonly fetchOffset: number;
  /** Default `'read_committed'`. */
  readonly isolation?: Isolation;
  /** The aborted-transaction list of this partition; used only with `'read_committed'`. */
  readonly abortedTransactions?: readonly AbortedTransaction[];
  /** Default true. */
  readonly checkCrc?: boolean;
  /** Default 64 MiB. */
  readonly maxInflatedBytes?: number;
  readonly codecs?: CodecRegistry;
  /** Share one instance between the readers of a session, so that small responses share memory. */
  readonly chunks?: RecordChunks;
  /**
   * Share one instance between the readers of a session, so that each header key is decoded once.
   */
  readonly headerNames?: HeaderNameCache;
}

const DEFAULT_MAX_INFLATED_BYTES = 64 * 1024 * 1024;
const NO_BYTES = Buffer.alloc(0);

/**
 * Returns the records of one partition of a fetch response, a few at a time, and decodes only
 * those.
 *
 * If a batch is broken, the records before it are returned first. The next call throws, and so does
 * every later call. `position` is then the offset of the error, which may be inside a batch whose
 * first records were valid.
 */
export class RecordBatchReader {
  private bytes: Buffer;
  private at = 0;
  private open: OpenBatch | undefined;
  private failure: Error | undefined;
  private currentPosition: number;
  private currentEpoch = -1;
  /** The number of bytes that the current call may still return. */
  private bytesLeft = 0;
  private readonly origin: RecordOrigin;
  private readonly limits: InflateLimits;
  private readonly checkCrc: boolean;
  private readonly aborted: AbortedTransactions | undefined;

  /** `records` may contain any number of batches, including none; the last one may be truncated. */
  constructor(records: Buffer, options: RecordBatchReaderOptions) {
    this.bytes = records;
    this.currentPosition = options.fetchOffset;
    this.checkCrc = options.checkCrc ?? true;
    this.origin = {
      topic: options.topic,
      partition: options.partition,
      names: options.headerNames ?? new HeaderNameCache(),
      chunks: options.chunks ?? new RecordChunks(),
    };
    this.limits = {
      codecs: options.codecs ?? standardCodecs,
      maxInflatedBytes: options.maxInflatedBytes ?? DEFAULT_MAX_INFLATED_BYTES,
    };
    if (options.isolation !== 'read_uncommitted') {
      this.aborted = new AbortedTransactions(options.abortedTransactions ?? []);
    }
  }

  /**
   * The offset to continue from after the returned records. After the last record of a batch it is
   * the end of the batch, including offsets that compaction removed. It moves past control, aborted
   * and empty batches as `next` does, and never moves back.
   */
  get position(): number {
    return this.currentPosition;
  }

  /**
   * The leader epoch of the batch that contains or precedes `position`; -1 before the first batch.
   */
  get leaderEpoch(): number {
    return this.currentEpoch;
  }

  /** Returns whether everything was returned or skipped. Never true after a failure. */
  get done(): boolean {
    return this.failure === undefined && this.open === undefined && this.at >= this.bytes.length;
  }

  /**
   * The size of the batches that are not opened yet. The response stays in memory until `done`, or
   * until the reader is dropped.
   */
  get remainingBytes(): number {
    return this.bytes.length - this.at;
  }

  /**
   * Returns up to `max` records in offset order. The record that reaches `maxBytes` is the last
   * one. Returns none only when the reader is done. Throws PoisonBatchError, or
   * MalformedResponseError if not even the first batch is complete.
   */
  next(max: number, maxBytes = Infinity): BrokerRecord[] {
    if (this.failure !== undefined) throw this.failure;
    const records: BrokerRecord[] = [];
    this.bytesLeft = maxBytes;
    try {
      while (records.length < max && this.bytesLeft > 0 && this.openNextBatch())
        this.readRecords(records, max);
    } catch (error) {
      this.failure = this.toBrokerError(error);
      if (records.length === 0) throw this.failure;
    }
    return records;
  }

  /** Opens the next batch if none is open; returns false when there is none left. */
  private openNextBatch(): boolean {
    while (this.open === undefined) {
      if (this.at >= this.bytes.length) return false;
      const header = readBatchHeader(this.bytes, this.at, this.checkCrc);
      if (header === undefined) {
        this.stopAtPartial();
        return false;
      }
      this.currentEpoch = header.leaderEpoch;
      this.openBatch(header);
    }
    return true;
  }

  private openBatch(header: BatchHeader): void {
    try {
      if (this.isReadable(header)) {
        this.open = new OpenBatch(this.origin, header, openRecords(header, this.limits));
      }
    } catch (error) {
      throw withNextOffset(error, header.lastOffset + 1);
    }
    this.at = header.end;
    if (this.open === undefined) this.passBatch(header.lastOffset + 1);
  }

  private isReadable(header: BatchHeader): boolean {
    if (header.isControl) {
      this.endTransaction(header);
      return false;
    }
    if (header.lastOffset < this.currentPosition) return false;
    if (this.aborted === undefined || !header.isTransactional) return true;
    return !this.aborted.isAborted(header.producerId, header.lastOffset);
  }

  private endTransaction(header: BatchHeader): void {
    if (this.aborted === undefined || header.count === 0) return;
    const type = readControlType(openRecords(header, this.limits));
    if (type !== undefined) this.aborted.end(header.producerId, header.lastOffset, type);
  }

  private readRecords(records: BrokerRecord[], max: number): void {
    const open = this.open;
    if (open === undefined) return;
    try {
      while (open.remaining > 0 && records.length < max && this.bytesLeft > 0) {
        const record = open.next(this.currentPosition);
        if (record === undefined) continue;
        records.push(record);
        this.bytesLeft -= record.sizeInBytes;
        this.currentPosition = record.offset + 1;
      }
      if (open.remaining > 0) return;
      open.requireNothingLeft();
    } catch (error) {
      throw withNextOffset(error, open.nextOffset);
    }
    this.passBatch(open.nextOffset);
  }

  private passBatch(nextOffset: number): void {
    this.open = undefined;
    this.currentPosition = Math.max(this.currentPosition, nextOffset);
    if (this.at >= this.bytes.length) this.release();
  }

  /**
   * Ignores a truncated batch. A broker fills its response up to a byte limit and may truncate the
   * last batch, but never the first one (KIP-74).
   */
  private stopAtPartial(): void {
    const { topic, partition } = this.origin;
    if (this.at === 0) {
      throw new MalformedResponseError(
        `The response for ${topic}-${partition} at offset ${this.currentPosition} has ${this.bytes.length} bytes and no complete batch. Fetch again; if the error persists, raise the fetch limits.`,
      );
    }
    this.release();
  }

  /** Releases the memory of the response. */
  private release(): void {
    this.bytes = NO_BYTES;
    this.at = 0;
  }

  private toBrokerError(error: unknown): Error {
    this.open = undefined;
    this.release();
    if (!(error instanceof MalformedBytesError)) return error as Error;
    const { topic, partition } = this.origin;
    const position = this.currentPosition;
    const { nextOffset } = error;
    const isBeyond = nextOffset !== undefined && nextOffset > position;
    const way = isBeyond
      ? `Seek to ${nextOffset} to skip it.`
      : 'The end of the batch is unknown: seek to an offset after it to skip it.';
    return new PoisonBatchError(
      topic,
      partition,
      position,
      isBeyond ? nextOffset : undefined,
      `The batch of ${topic}-${partition} at offset ${position} cannot be read: ${error.message}. ${way}`,
      { cause: error },
    );
  }
}

/**
 * Adds the end of the batch to an error. The header was validated before the error occurred, so its
 * range is correct.
 */
function withNextOffset(error: unknown, nextOffset: number): unknown {
  if (!(error instanceof MalformedBytesError)) return error;
  return new MalformedBytesError(error.message, { cause: error.cause, nextOffset });
}
