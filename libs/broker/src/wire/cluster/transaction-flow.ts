import type { ClusterFeatures } from './cluster-features.js';

/**
 * How a producer and its cluster carry out transactions. The two must not be mixed in one of them.
 *
 * - `announced`, of every broker since Kafka 2.5: partitions and groups are added to a transaction
 *   before it writes to them, and its producer keeps its epoch.
 * - `implied`, of Kafka 4 (KIP-890): brokers add them when something is written there, and the end
 *   of a transaction raises the epoch, so that nothing late can get into the next one.
 */
export type TransactionFlow = 'announced' | 'implied';

const IMPLIED_FROM = 2;

/** What brokers speak does not tell: a cluster that was upgraded may not have finalized the feature yet. */
export function transactionFlowOf(features: ClusterFeatures): TransactionFlow {
  return features.levelOf('transaction.version') >= IMPLIED_FROM ? 'implied' : 'announced';
}
