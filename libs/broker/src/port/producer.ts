import type { OffsetCommit } from './consumer.js';
import type { OutgoingRecord, WrittenRecord } from './record.js';

export type Compression = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';

export interface ProducerOptions {
  /** Records that wait for each other in one request. Default 16 KiB. */
  readonly batchBytes?: number;
  /** How long a record may wait for company. Default 5 ms. */
  readonly lingerMs?: number;
  /** Of everything that waits or is under way; beyond it `send` waits. Default 32 MiB. */
  readonly bufferBytes?: number;
  /** Of one request. Default 1 MiB. */
  readonly maxRequestBytes?: number;
  /** From `send` to the last attempt's end. Default 120 s. */
  readonly deliveryTimeoutMs?: number;
  /** Of one request. Default 30 s. */
  readonly requestTimeoutMs?: number;
  /** One of the driver's `capabilities.compressions`. Default `'none'`. */
  readonly compression?: Compression;
  /**
   * A retry never writes a record twice, and a batch never takes another's place. Default true;
   * false where the credentials do not allow it: at least once then.
   */
  readonly idempotent?: boolean;
  /**
   * Makes it a producer of transactions, and of nothing else: `transaction()` begins one, `send`
   * is refused. A cluster lets one producer live per id: a later one, also of another process,
   * fences the earlier and aborts what that left open. So give each producer an id of its own that
   * stays the same over restarts.
   */
  readonly transactionalId?: string;
  /** A transaction that is open for longer is aborted by the cluster, and its producer fenced. Default 60 s. */
  readonly transactionTimeoutMs?: number;
}

export interface SendOptions {
  /** Shorter than the producer's own `deliveryTimeoutMs`, for this call. */
  readonly timeoutMs?: number;
  /** Gives up what has not left yet; what is under way is settled first and reported as it ended. */
  readonly signal?: AbortSignal;
}

/** Writes records. Every acknowledgement is by all in-sync replicas. */
export interface ProducerSession {
  /**
   * Resolves with one result per record, in order, when all are acknowledged; else rejects with a
   * SendError that tells of each record whether it was written. An empty list resolves at once.
   */
  send(
    records: readonly OutgoingRecord[],
    options?: SendOptions,
  ): Promise<readonly WrittenRecord[]>;

  /**
   * Begins a transaction; the first call takes over the `transactionalId`. One at a time. Rejects
   * with InvalidOptionError without such an id, with ProducerFencedError once another producer has
   * it, with UnsupportedError where `capabilities.transactions` is false.
   */
  transaction(): Promise<Transaction>;

  /**
   * Waits, bounded, for what is under way; what cannot be finished is rejected, and a transaction
   * that is open is aborted. Idempotent.
   */
  close(): Promise<void>;
}

/**
 * A group's offsets as part of a transaction. `memberId` and `generation` are those of the session
 * when it handed the records out: asked for later they may be those of a time in which another
 * member has handled them.
 */
export interface TransactionOffsets {
  readonly groupId: string;
  readonly memberId: string;
  readonly generation: number;
  /** Of a static member. */
  readonly groupInstanceId?: string | null;
  readonly offsets: readonly OffsetCommit[];
}

/** Records and offsets that count together or not at all. After the first failure only `abort` is left. */
export interface Transaction {
  send(records: readonly OutgoingRecord[]): Promise<readonly WrittenRecord[]>;
  /** Commits the offsets with the transaction; refused with FencedError for a member of an old generation. */
  sendOffsets(offsets: TransactionOffsets): Promise<void>;
  /**
   * Waits for what is under way and resolves once all of it counts. When it rejects nothing does,
   * unless with TransactionOutcomeUnknownError: then `abort` finds out.
   */
  commit(): Promise<void>;
  /**
   * Resolves once nothing of it can count any more; rejects with TransactionCommittedError when
   * all of it does. When it cannot reach the cluster it rejects, and the next transaction of the
   * producer, or the next producer of the id, does it. Idempotent.
   */
  abort(): Promise<void>;
}
