import type { BrokerError } from '../../../port/errors.js';
import {
  CONTROL_CHANNEL,
  epochEndRequest,
  type Cluster,
  type EpochEnd,
} from '../../../wire/index.js';
import type { FetchErrorHandler } from './fetch-error-handler.js';
import type { OwnedPartition } from './owned-partition.js';
import type { Divergence } from '../assignment/reset-positions.js';

export interface TruncationCallbacks {
  /**
   * Called when delivered records are not in the leader's log. `divergence` is the first offset
   * that differs, if the leader knows it.
   */
  onTruncated(partition: OwnedPartition, divergence: Divergence | undefined): void;
}

export interface TruncationCheckOptions {
  readonly cluster: Pick<Cluster, 'request' | 'metadata'>;
  readonly callbacks: TruncationCallbacks;
  readonly errorHandler: FetchErrorHandler;
  readonly closed: AbortSignal;
  /** Called after the check, when the partitions can be fetched again. */
  onDone(): void;
}

interface EpochQuery {
  readonly topic: string;
  readonly partition: number;
  readonly owned: OwnedPartition;
  readonly positionVersion: number;
  readonly currentEpoch: number;
  readonly epoch: number;
}

/**
 * Asks the new leader of a partition whether its log contains the delivered records (KIP-320). Where
 * reading goes on after a truncation is decided by `ResetPositions`.
 * Records that were fetched ahead came from the previous leader and are dropped.
 */
export class TruncationCheck {
  constructor(private readonly options: TruncationCheckOptions) {}

  async check(node: number, partitions: readonly OwnedPartition[]): Promise<void> {
    const { errorHandler, closed, onDone } = this.options;
    const queries = partitions.map((owned) => this.#createQuery(owned));
    try {
      for (let pending = queries; pending.length > 0;) pending = await this.#ask(node, pending);
    } catch (error) {
      if (!closed.aborted) errorHandler.requestFailed(node, partitions, error as BrokerError);
    } finally {
      for (const { owned, positionVersion } of queries) owned.markAnswered(positionVersion);
      onDone();
    }
  }

  /** Sends the queries. Returns the queries that must be repeated with another epoch. */
  async #ask(node: number, queries: readonly EpochQuery[]): Promise<EpochQuery[]> {
    const { cluster, closed } = this.options;
    const request = epochEndRequest(queries);
    const ends = await cluster.request(node, CONTROL_CHANNEL, request, { signal: closed });
    return queries.flatMap((query) =>
      query.owned.positionVersion === query.positionVersion
        ? (this.#settle(query, ends) ?? [])
        : [],
    );
  }

  #createQuery(owned: OwnedPartition): EpochQuery {
    const { topic, partition, trail } = owned;
    owned.dropChunks();
    owned.preferredReplica.clear();
    const currentEpoch = this.options.cluster.metadata.leaderEpoch(topic, partition);
    return {
      topic,
      partition,
      owned,
      positionVersion: owned.markRequested(),
      currentEpoch,
      epoch: trail.last,
    };
  }

  #settle(query: EpochQuery, ends: readonly EpochEnd[]): EpochQuery | undefined {
    const { errorHandler } = this.options;
    const { owned, topic, partition } = query;
    const end = ends.find((each) => each.partition === partition && each.topic === topic);
    if (!end) errorHandler.backOffBriefly(owned);
    else if (end.code !== 0) errorHandler.partitionFailed(owned, end.code);
    else return this.#compare(query, end);
    return undefined;
  }

  #compare(query: EpochQuery, { leaderEpoch, endOffset }: EpochEnd): EpochQuery | undefined {
    const { owned, currentEpoch } = query;
    const shared = owned.trail.lastUpTo(leaderEpoch);
    // The partition had leaders in between whose epochs this consumer does not know. The logs
    // diverge at the end of the last epoch that both know, so the leader is asked for that end.
    if (shared >= 0 && shared !== leaderEpoch) return { ...query, epoch: shared };
    const offset = owned.trail.commonEnd(leaderEpoch, endOffset);
    if (leaderEpoch < 0 || endOffset < 0) this.#reportTruncation(owned, undefined);
    else if (offset >= owned.position) owned.markTruncationChecked(currentEpoch);
    else this.#reportTruncation(owned, { offset, leaderEpoch });
    return undefined;
  }

  /** Reports the truncation and stops fetching until the session has set a new position. */
  #reportTruncation(owned: OwnedPartition, divergence: Divergence | undefined): void {
    owned.backoffUntil = Infinity;
    this.options.callbacks.onTruncated(owned, divergence);
  }
}
