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

  /** Begins a transaction. Rejects with UnsupportedError where `capabilities.transactions` is false. */
  transaction(): Promise<Transaction>;

  /** Waits, bounded, for what is under way; what cannot be finished is rejected. Idempotent. */
  close(): Promise<void>;
}

/** A group's offsets as part of a transaction. */
export interface TransactionOffsets {
  readonly groupId: string;
  readonly memberId: string;
  readonly generation: number;
  readonly offsets: readonly OffsetCommit[];
}

export interface Transaction {
  send(records: readonly OutgoingRecord[]): Promise<readonly WrittenRecord[]>;
  /** Commits the offsets with the transaction; refused with FencedError for a member of an old generation. */
  sendOffsets(offsets: TransactionOffsets): Promise<void>;
  commit(): Promise<void>;
  abort(): Promise<void>;
}
