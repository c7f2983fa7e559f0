import type { DriverLogger } from '../../port/driver.js';
import type { ClosedError } from '../../port/errors.js';
import type { ResolvedProducerOptions } from '../../port/validate-producer-options.js';
import type { RecordCodec } from '../../records/index.js';
import type { TransactionProtocol, ClusterClient } from '../../wire/index.js';
import type { PartitionQueue } from './batching/partition-queue.js';

export interface SenderContext {
  readonly cluster: ClusterClient;
  readonly logger: DriverLogger;
  readonly options: ResolvedProducerOptions;
  readonly codec: RecordCodec | undefined;
  /**
   * The protocol of the transactions that the records belong to; undefined without transactions.
   */
  readonly transactionProtocol?: TransactionProtocol;
  /**
   * Called if the cluster is closed while the producer is open. No response will arrive any more.
   */
  readonly onClusterClosed: (error: ClosedError) => void;
}

/**
 * Prepares a partition before its first batch is sent: gets a producer id, or adds the partition to
 * the transaction.
 */
export interface PartitionRegistrar {
  /**
   * Returns true if the queue can be sent now. Otherwise the queue waits in the registrar until
   * `OnRegistered` is called.
   */
  register(queue: PartitionQueue): boolean;
  stop(): void;
}

/** Called with the queues that can be sent now. The other queues may have failed. */
export type OnRegistered = (queues: readonly PartitionQueue[]) => void;

/** Returns undefined if queues need no registration, as without idempotence. */
export type PartitionRegistrarFactory = (
  context: SenderContext,
  onRegistered: OnRegistered,
) => PartitionRegistrar | undefined;

/**
 * The delays between attempts. A leader election takes one or two seconds. An outdated leader is
 * corrected by the first metadata refresh.
 */
export const RETRY_BACKOFF = { initialMs: 50, maxMs: 1_000 } as const;

/**
 * The bytes of a produce request in addition to its batch: header, topic and partition, rounded up.
 */
export const REQUEST_OVERHEAD = 512;
