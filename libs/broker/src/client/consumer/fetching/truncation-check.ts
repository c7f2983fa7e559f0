import type { BrokerError } from '../../../port/errors.js';
import {
  CONTROL_CHANNEL,
  epochEndRequest,
  type Cluster,
  type EpochEnd,
} from '../../../wire/index.js';
import type { FetchErrorHandler } from './fetch-error-handler.js';
import type { OwnedPartition } from './owned-partition.js';
import type { Divergence } from '../assignment/start-positions.js';

export interface TruncationCallbacks {
  /** What was read is not in the leader's log, which agrees with it up to there, where it can tell. */
  onTruncated(partition: OwnedPartition, divergence: Divergence | undefined): void;
}

export interface TruncationCheckOptions {
  readonly cluster: Pick<Cluster, 'request' | 'metadata'>;
  readonly callbacks: TruncationCallbacks;
  readonly errors: FetchErrorHandler;
  readonly closed: AbortSignal;
  /** Look again at what is wanted. */
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
 * Asks a leader that is new to a partition whether its log holds what we read (KIP-320). What was
 * fetched ahead came from the leader before it, and is forgotten.
 */
export class TruncationCheck {
  constructor(private readonly options: TruncationCheckOptions) {}

  async check(node: number, partitions: readonly OwnedPartition[]): Promise<void> {
    const { errors, closed, onDone } = this.options;
    const queries = partitions.map((owned) => this.#createQuery(owned));
    try {
      for (let pending = queries; pending.length > 0;) pending = await this.#ask(node, pending);
    } catch (error) {
      if (!closed.aborted) errors.requestFailed(node, partitions, error as BrokerError);
    } finally {
      for (const { owned, positionVersion } of queries) owned.markAnswered(positionVersion);
      onDone();
    }
  }

  /** Returns what has to be asked next. */
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
    const { errors } = this.options;
    const { owned, topic, partition } = query;
    const end = ends.find((each) => each.partition === partition && each.topic === topic);
    if (!end) errors.backOffBriefly(owned);
    else if (end.code !== 0) errors.partitionFailed(owned, end.code);
    else return this.#compare(query, end);
    return undefined;
  }

  #compare(query: EpochQuery, { leaderEpoch, endOffset }: EpochEnd): EpochQuery | undefined {
    const { owned, currentEpoch } = query;
    const shared = owned.trail.lastUpTo(leaderEpoch);
    // It had leaders that we never saw: where the last one that we did see ended, the logs part.
    if (shared >= 0 && shared !== leaderEpoch) return { ...query, epoch: shared };
    const offset = owned.trail.commonEnd(leaderEpoch, endOffset);
    if (leaderEpoch < 0 || endOffset < 0) this.#reportTruncation(owned, undefined);
    else if (offset >= owned.position) owned.markTruncationChecked(currentEpoch);
    else this.#reportTruncation(owned, { offset, leaderEpoch });
    return undefined;
  }

  /** Not asked for again until the session has decided where to go on. */
  #reportTruncation(owned: OwnedPartition, divergence: Divergence | undefined): void {
    owned.backoffUntil = Infinity;
    this.options.callbacks.onTruncated(owned, divergence);
  }
}
