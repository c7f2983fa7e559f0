import type { Isolation } from '../../port/consumer.js';
import { MalformedResponseError, PoisonBatchError } from '../../port/errors.js';
import type { BrokerRecord } from '../../port/record.js';
import { AbortedTransactions, type AbortedTransaction } from './aborted-transactions.js';
import { readBatchHeader, type BatchHeader } from './batch-header.js';
import { standardCodecs, type CodecRegistry } from '../codecs.js';
import { readControlType } from './control-batch.js';
import { HeaderNameCache } from '../header-name-cache.js';
import { MalformedBytesError } from '../malformed-bytes-error.js';
import { OpenBatch, RecordChunks, type RecordOrigin } from './open-batch.js';
import { openRecords, type InflateLimits } from './record-decoder.js';

export interface RecordBatchReaderOptions {
  readonly topic: string;
  readonly partition: number;
  /** The requested offset. Records with smaller offsets are skipped. */
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
  /**
   * The memory for small records. Readers of one session should share one instance, so that small
   * responses share a chunk.
   */
  readonly chunks?: RecordChunks;
  /**
   * The cache of header keys. Readers of one session should share one instance, so that each header
   * key is decoded once.
   */
  readonly headerNames?: HeaderNameCache;
}

const DEFAULT_MAX_INFLATED_BYTES = 64 * 1024 * 1024;
const NO_BYTES = Buffer.alloc(0);

/**
 * Returns the records of one partition of a fetch response, a few at a time, and decodes only the
 * returned ones.
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
  /**
   * The offset at which to continue after the returned records. After the last record of a batch it
   * is the end of the batch, including offsets that compaction removed. `next` also moves it past
   * control batches, aborted batches and empty batches. It never decreases. Only the reader sets it.
   */
  position: number;
  /**
   * The leader epoch of the batch that contains or precedes `position`; -1 before the first batch.
   * Only the reader sets it.
   */
  leaderEpoch = -1;
  /** The number of bytes that the current call may still return. */
  private bytesLeft = 0;
  private readonly origin: RecordOrigin;
  private readonly limits: InflateLimits;
  private readonly checkCrc: boolean;
  private readonly isolation: Isolation;
  /** Undefined if the response lists no aborted transaction. */
  private readonly aborted: AbortedTransactions | undefined;

  /**
   * Creates a reader. `records` may contain any number of batches, including none, and the last
   * batch may be truncated.
   */
  constructor(records: Buffer, options: RecordBatchReaderOptions) {
    this.bytes = records;
    this.position = options.fetchOffset;
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
    this.isolation = options.isolation ?? 'read_committed';
    const { abortedTransactions = [] } = options;
    if (this.isolation === 'read_committed' && abortedTransactions.length > 0) {
      this.aborted = new AbortedTransactions(abortedTransactions);
    }
  }

  /** Returns true if all records were returned or skipped. Never true after a failure. */
  get done(): boolean {
    return this.failure === undefined && this.open === undefined && this.at >= this.bytes.length;
  }

  /**
   * The size of the batches that are not opened yet. The reader keeps the response in memory until
   * `done` is true.
   */
  get remainingBytes(): number {
    return this.bytes.length - this.at;
  }

  /**
   * Returns up to `max` records in offset order. The record that reaches `maxBytes` is the last
   * one. Returns an empty list only when the reader is done. Throws PoisonBatchError, or
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

  /** Opens the next batch if no batch is open. Returns false if no batch follows. */
  private openNextBatch(): boolean {
    while (this.open === undefined && this.at < this.bytes.length) {
      const header = readBatchHeader(this.bytes, this.at, this.checkCrc);
      if (header === undefined) {
        this.stopAtPartial();
        return false;
      }
      this.leaderEpoch = header.leaderEpoch;
      const nextOffset = header.lastOffset + 1;
      try {
        if (this.isReadable(header)) {
          this.open = new OpenBatch(this.origin, header, openRecords(header, this.limits));
        }
      } catch (error) {
        throw withNextOffset(error, nextOffset);
      }
      this.at = header.end;
      if (this.open === undefined) this.passBatch(nextOffset);
    }
    return this.open !== undefined;
  }

  private isReadable(header: BatchHeader): boolean {
    if (header.isControl) {
      this.endTransaction(header);
      return false;
    }
    if (header.lastOffset < this.position) return false;
    if (this.aborted === undefined || !header.isTransactional) return true;
    return !this.aborted.isAborted(header.producerId, header.lastOffset);
  }

  private endTransaction(header: BatchHeader): void {
    if (this.isolation === 'read_uncommitted' || header.count === 0) return;
    const type = readControlType(openRecords(header, this.limits));
    if (type !== undefined) this.aborted?.end(header.producerId, header.lastOffset, type);
  }

  private readRecords(records: BrokerRecord[], max: number): void {
    const open = this.open;
    if (open === undefined) return;
    try {
      while (open.remaining > 0 && records.length < max && this.bytesLeft > 0) {
        const record = open.next(this.position);
        if (record === undefined) continue;
        records.push(record);
        this.bytesLeft -= record.sizeInBytes;
        this.position = record.offset + 1;
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
    this.position = Math.max(this.position, nextOffset);
    if (this.at < this.bytes.length) return;
    // Releases the memory of the response, because no more batches are read from it.
    this.bytes = NO_BYTES;
    this.at = 0;
  }

  /**
   * Ends the reading at a truncated batch. A broker fills its response up to a byte limit and may
   * truncate the last batch, but never the first one (KIP-74).
   */
  private stopAtPartial(): void {
    const { topic, partition } = this.origin;
    if (this.at === 0) {
      throw new MalformedResponseError(
        `The response for ${topic}-${partition} at offset ${this.position} has ${this.bytes.length} bytes and no complete batch. Fetch again; if the error persists, raise the fetch limits.`,
      );
    }
    this.bytes = NO_BYTES;
    this.at = 0;
  }

  private toBrokerError(error: unknown): Error {
    this.open = undefined;
    this.bytes = NO_BYTES;
    this.at = 0;
    if (!(error instanceof MalformedBytesError)) return error as Error;
    const { topic, partition } = this.origin;
    const position = this.position;
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
 * Adds the first offset after the batch to an error. That offset is correct, because the header was
 * validated before the error occurred.
 */
function withNextOffset(error: unknown, nextOffset: number): unknown {
  if (!(error instanceof MalformedBytesError)) return error;
  return new MalformedBytesError(error.message, { cause: error.cause, nextOffset });
}
