import type { Isolation } from '../../port/consumer.js';
import { MalformedResponseError, PoisonBatchError } from '../../port/errors.js';
import type { BrokerRecord } from '../../port/record.js';
import { AbortedTransactions, type AbortedTransaction } from './aborted-transactions.js';
import type { BatchHeader } from './batch-header.js';
import { openRecords, type InflateLimits } from './batch-records.js';
import { readBatchHeader } from './batch-validation.js';
import { standardCodecs, type CodecRegistry } from '../codecs.js';
import { readControlType } from './control-batch.js';
import { HeaderNames } from '../header-names.js';
import { MalformedBytesError } from '../malformed-bytes-error.js';
import { OpenBatch, type RecordOrigin } from './open-batch.js';
import { RecordChunks } from './record-chunks.js';

export interface RecordBatchReaderOptions {
  readonly topic: string;
  readonly partition: number;
  /** What the broker was asked for: records below it are left out. */
  readonly fetchOffset: number;
  /** Default `'read_committed'`. */
  readonly isolation?: Isolation;
  /** The response's list for this partition; only looked at with `'read_committed'`. */
  readonly abortedTransactions?: readonly AbortedTransaction[];
  /** Default true. */
  readonly checkCrc?: boolean;
  /** Default 64 MiB. */
  readonly maxInflatedBytes?: number;
  readonly codecs?: CodecRegistry;
  /** Share one instance between the readers of a session: small responses then share their memory. */
  readonly chunks?: RecordChunks;
  /** Share one instance between the readers of a session: header keys are then recognised at once. */
  readonly headerNames?: HeaderNames;
}

const DEFAULT_MAX_INFLATED_BYTES = 64 * 1024 * 1024;
const NOTHING = Buffer.alloc(0);

/**
 * Hands out the records of one partition of a fetch response, a few at a time, and decodes only
 * those.
 *
 * On trouble the records before it are handed out first; the next call throws, and so does every
 * call after it. `position` then stands at the trouble: inside a batch, where its first records
 * were good.
 */
export class RecordBatchReader {
  private bytes: Buffer;
  private at = 0;
  private open: OpenBatch | undefined;
  private failure: Error | undefined;
  private currentPosition: number;
  private currentEpoch = -1;
  /** Bytes that the call under way may still hand out. */
  private room = 0;
  private readonly origin: RecordOrigin;
  private readonly limits: InflateLimits;
  private readonly checkCrc: boolean;
  private readonly aborted: AbortedTransactions | undefined;

  /** `records` may hold any number of batches, none included; the last one may be cut off. */
  constructor(records: Buffer, options: RecordBatchReaderOptions) {
    this.bytes = records;
    this.currentPosition = options.fetchOffset;
    this.checkCrc = options.checkCrc ?? true;
    this.origin = {
      topic: options.topic,
      partition: options.partition,
      names: options.headerNames ?? new HeaderNames(),
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
   * The offset to go on from after what was handed out. Behind a batch's last record it is the
   * batch's end, whatever compaction removed there; it passes control, aborted and emptied
   * batches as `next` does, and never goes back.
   */
  get position(): number {
    return this.currentPosition;
  }

  /** Leader epoch of the batch that `position` is in or just behind; -1 before the first. */
  get leaderEpoch(): number {
    return this.currentEpoch;
  }

  /** Everything was handed out or passed. Never true after a failure. */
  get done(): boolean {
    return this.failure === undefined && this.open === undefined && this.at >= this.bytes.length;
  }

  /** What is not entered yet. The response stays in memory until `done`, or until the reader is dropped. */
  get remainingBytes(): number {
    return this.bytes.length - this.at;
  }

  /**
   * Up to `max` records in the order of their offsets, the last of them the one that reaches
   * `maxBytes`; none only when the reader is done. Throws PoisonBatchError, or
   * MalformedResponseError when not even the first batch is whole.
   */
  next(max: number, maxBytes = Infinity): BrokerRecord[] {
    if (this.failure !== undefined) throw this.failure;
    const records: BrokerRecord[] = [];
    this.room = maxBytes;
    try {
      while (records.length < max && this.room > 0 && this.advance()) this.drain(records, max);
    } catch (error) {
      this.failure = this.explain(error);
      if (records.length === 0) throw this.failure;
    }
    return records;
  }

  /** Makes sure that a batch is open; false when there is none left. */
  private advance(): boolean {
    while (this.open === undefined) {
      if (this.at >= this.bytes.length) return false;
      const header = readBatchHeader(this.bytes, this.at, this.checkCrc);
      if (header === undefined) {
        this.stopAtPartial();
        return false;
      }
      this.currentEpoch = header.leaderEpoch;
      this.enter(header);
    }
    return true;
  }

  private enter(header: BatchHeader): void {
    try {
      if (this.hasRecordsToGive(header)) {
        this.open = new OpenBatch(this.origin, header, openRecords(header, this.limits));
      }
    } catch (error) {
      throw withNextOffset(error, header.lastOffset + 1);
    }
    this.at = header.end;
    if (this.open === undefined) this.leave(header.lastOffset + 1);
  }

  private hasRecordsToGive(header: BatchHeader): boolean {
    if (header.isControl) {
      this.obey(header);
      return false;
    }
    if (header.lastOffset < this.currentPosition) return false;
    if (this.aborted === undefined || !header.isTransactional) return true;
    return !this.aborted.isAborted(header.producerId, header.lastOffset);
  }

  private obey(header: BatchHeader): void {
    if (this.aborted === undefined || header.count === 0) return;
    const type = readControlType(openRecords(header, this.limits));
    if (type !== undefined) this.aborted.end(header.producerId, header.lastOffset, type);
  }

  private drain(records: BrokerRecord[], max: number): void {
    const open = this.open;
    if (open === undefined) return;
    try {
      while (open.remaining > 0 && records.length < max && this.room > 0) {
        const record = open.next(this.currentPosition);
        if (record === undefined) continue;
        records.push(record);
        this.room -= record.sizeInBytes;
        this.currentPosition = record.offset + 1;
      }
      if (open.remaining > 0) return;
      open.requireNothingLeft();
    } catch (error) {
      throw withNextOffset(error, open.nextOffset);
    }
    this.leave(open.nextOffset);
  }

  private leave(nextOffset: number): void {
    this.open = undefined;
    this.currentPosition = Math.max(this.currentPosition, nextOffset);
    if (this.at >= this.bytes.length) this.release();
  }

  /** A broker fills its answer up to a byte limit and may cut the last batch; never the first one (KIP-74). */
  private stopAtPartial(): void {
    const { topic, partition } = this.origin;
    if (this.at === 0) {
      throw new MalformedResponseError(
        `The answer for ${topic}-${partition} at offset ${this.currentPosition} has ${this.bytes.length} bytes and not one whole batch. Fetch again; if it stays so, raise the fetch limits.`,
      );
    }
    this.release();
  }

  /** Lets go of the response. */
  private release(): void {
    this.bytes = NOTHING;
    this.at = 0;
  }

  private explain(error: unknown): Error {
    this.open = undefined;
    this.release();
    if (!(error instanceof MalformedBytesError)) return error as Error;
    const { topic, partition } = this.origin;
    const position = this.currentPosition;
    const { nextOffset } = error;
    const isBeyond = nextOffset !== undefined && nextOffset > position;
    const way = isBeyond
      ? `Seek to ${nextOffset} to leave it behind.`
      : 'Its own end cannot be believed: seek to an offset behind it to leave it behind.';
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

/** The header was believed before this went wrong, so its range tells where the batch ends. */
function withNextOffset(error: unknown, nextOffset: number): unknown {
  if (!(error instanceof MalformedBytesError)) return error;
  return new MalformedBytesError(error.message, { cause: error.cause, nextOffset });
}
