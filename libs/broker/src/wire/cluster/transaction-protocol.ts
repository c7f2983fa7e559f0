import type { ClusterFeatures } from './cluster-features.js';

/**
 * The transaction protocol between a producer and its cluster. A single transaction must not mix
 * the two protocols.
 *
 * - `v1`, all brokers since Kafka 2.5: the producer adds partitions and groups to a transaction
 * before it writes to them, and keeps its epoch.
 * - `v2`, Kafka 4 (KIP-890): brokers add partitions and groups on the first write. The end of a
 * transaction increases the epoch, so that a delayed request cannot change the next transaction.
 */
export type TransactionProtocol = 'v1' | 'v2';

const V2_FROM = 2;

/**
 * Uses the finalized feature instead of the supported request versions, because an upgraded cluster
 * may not have finalized the feature yet.
 */
export function transactionProtocolOf(features: ClusterFeatures): TransactionProtocol {
  return features.levelOf('transaction.version') >= V2_FROM ? 'v2' : 'v1';
}
