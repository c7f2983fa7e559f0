import type { OffsetCommit } from './consumer.js';
import type { OutgoingRecord, WrittenRecord } from './record.js';

export type Compression = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';

export interface ProducerOptions {
  /** The maximum size of a batch. Default 16 KiB. */
  readonly batchBytes?: number;
  /** The time that a record may wait for other records of its batch. Default 5 ms. */
  readonly lingerMs?: number;
  /**
   * The maximum size of all waiting and in-flight records; `send` waits while it is exceeded.
   * Default 32 MiB.
   */
  readonly bufferBytes?: number;
  /** The maximum size of one request. Default 1 MiB. */
  readonly maxRequestBytes?: number;
  /** The time from `send` to the end of the last attempt. Default 120 s. */
  readonly deliveryTimeoutMs?: number;
  /** The timeout of one request. Default 30 s. */
  readonly requestTimeoutMs?: number;
  /** The compression, from the driver's `capabilities.compressions`. Default `'none'`. */
  readonly compression?: Compression;
  /**
   * Ensures that a retry never writes a record twice and that batches keep their order. Default
   * true. Set it to false only if the credentials do not allow it; delivery is then at least once.
   */
  readonly idempotent?: boolean;
  /**
   * Makes this a transactional producer: `transaction()` begins a transaction, and `send` is
   * refused. The cluster allows one active producer per id. A newer producer, also in another
   * process, fences the older one and aborts its open transaction. Give each producer its own id,
   * and keep the id across restarts.
   */
  readonly transactionalId?: string;
  /**
   * The maximum duration of a transaction. The cluster aborts a longer one and fences its producer.
   * Default 60 s.
   */
  readonly transactionTimeoutMs?: number;
}

export interface SendOptions {
  /** A shorter deadline than `deliveryTimeoutMs`, for this call. */
  readonly timeoutMs?: number;
  /**
   * Cancels records that were not sent yet. In-flight records are completed first and reported with
   * their outcome.
   */
  readonly signal?: AbortSignal;
}

/** Writes records. Every record is acknowledged by all in-sync replicas. */
export interface ProducerSession {
  /**
   * Resolves with one result per record, in order, when all are acknowledged. Otherwise rejects
   * with a SendError that contains the outcome of each record. An empty list resolves at once.
   */
  send(
    records: readonly OutgoingRecord[],
    options?: SendOptions,
  ): Promise<readonly WrittenRecord[]>;

  /**
   * Begins a transaction; the first call takes over the `transactionalId`. Only one transaction at
   * a time is allowed. Rejects with InvalidOptionError without a transactional id, with
   * ProducerFencedError if another producer has taken over the id, and with UnsupportedError if
   * `capabilities.transactions` is false.
   */
  transaction(): Promise<Transaction>;

  /**
   * Waits a bounded time for in-flight records, rejects the unfinished ones, and aborts an open
   * transaction. Idempotent.
   */
  close(): Promise<void>;
}

/**
 * Offsets of a group as part of a transaction. Take `memberId` and `generation` from the session
 * when it returns the records. Values read later may belong to a generation in which another member
 * has already handled these records.
 */
export interface TransactionOffsets {
  readonly groupId: string;
  readonly memberId: string;
  readonly generation: number;
  /** The id of a static member. */
  readonly groupInstanceId?: string | null;
  readonly offsets: readonly OffsetCommit[];
}

/**
 * Records and offsets that are committed together or not at all. After the first failure only
 * `abort` is allowed.
 */
export interface Transaction {
  send(records: readonly OutgoingRecord[]): Promise<readonly WrittenRecord[]>;
  /**
   * Commits the offsets with the transaction. Rejects with FencedError for a member of an old
   * generation.
   */
  sendOffsets(offsets: TransactionOffsets): Promise<void>;
  /**
   * Waits for pending sends, and resolves once the transaction is committed. A rejection means that
   * nothing was committed, except TransactionOutcomeUnknownError: then `abort` finds out the
   * outcome.
   */
  commit(): Promise<void>;
  /**
   * Resolves once the transaction is aborted. Rejects with TransactionCommittedError if it was
   * committed. If the cluster is unreachable, it rejects, and the next transaction of the producer,
   * or the next producer with the id, aborts it. Idempotent.
   */
  abort(): Promise<void>;
}
