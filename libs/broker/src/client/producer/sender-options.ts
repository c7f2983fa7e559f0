import type { DriverLogger } from '../../port/driver.js';
import type { ClosedError } from '../../port/errors.js';
import type { ResolvedProducerOptions } from '../../port/validate-producer-options.js';
import type { RecordCodec } from '../../records/index.js';
import type { Cluster, TransactionFlow } from '../../wire/index.js';
import type { PartitionQueue } from './batching/partition-queue.js';

/** What of the cluster a sender needs. */
export type SenderCluster = Pick<
  Cluster,
  'request' | 'metadata' | 'features' | 'runtime' | 'closeLane'
>;

export interface SenderContext {
  readonly cluster: SenderCluster;
  readonly logger: DriverLogger;
  readonly options: ResolvedProducerOptions;
  readonly codec: RecordCodec | undefined;
  /** Of the transactions in which records are sent, if they are. */
  readonly flow?: TransactionFlow;
  /** The cluster was closed under us: nothing will be answered any more. */
  readonly onClusterClosed: (error: ClosedError) => void;
}

/** Where a partition gets what it needs before it may send: a producer id, a place in a transaction. */
export interface Desk {
  /** Whether the queue can send; else it waits here, and `onServed` tells. */
  admit(queue: PartitionQueue): boolean;
  stop(): void;
}

/** These queues need to be looked at: they have what they need now. Others may have failed for want of it. */
export type OnServed = (queues: readonly PartitionQueue[]) => void;

/** Without a desk a queue can always send. */
export type DeskOf = (context: SenderContext, onServed: OnServed) => Desk | undefined;

/** Delays between attempts. A leader election takes a second or two; a stale leader is mended by the first refresh. */
export const RETRY_BACKOFF = { initialMs: 50, maxMs: 1_000 } as const;

/** Header and frame of a produce request with its topic and partition, generously. */
export const REQUEST_OVERHEAD = 512;
