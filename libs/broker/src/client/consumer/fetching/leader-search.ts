import { UnknownTopicError } from '../../../port/errors.js';
import type { Cluster } from '../../../wire/index.js';
import type { OwnedPartition } from './owned-partition.js';

export interface LeaderSearchOptions {
  readonly cluster: Pick<Cluster, 'metadata' | 'runtime'>;
  /** Aborts when the fetcher is closed. */
  readonly closed: AbortSignal;
  onError(partition: OwnedPartition, error: Error): void;
  /** Called for a partition that exists but has no leader. */
  onLeaderless(partition: OwnedPartition): void;
  /** Called after the metadata were refreshed. */
  onDone(): void;
}

const UNKNOWN_TOPIC = 3;
/** The delay before the leader of the same partition is looked up again. */
const BACKOFF_MS = 200;

/**
 * Refreshes the metadata to find the leaders of partitions, one refresh at a time. A partition that
 * still has no leader backs off.
 */
export class LeaderSearch {
  readonly #options: LeaderSearchOptions;
  #searching = false;

  constructor(options: LeaderSearchOptions) {
    this.#options = options;
  }

  async find(partitions: readonly OwnedPartition[]): Promise<void> {
    const { cluster, closed, onError, onDone } = this.#options;
    this.#backOff(partitions);
    if (this.#searching) return onDone();
    this.#searching = true;
    try {
      await cluster.metadata.refresh([...new Set(partitions.map(({ topic }) => topic))]);
      for (const partition of partitions) this.#report(partition);
    } catch (error) {
      if (closed.aborted) return;
      for (const partition of partitions) onError(partition, error as Error);
    } finally {
      this.#searching = false;
      onDone();
    }
  }

  #report(owned: OwnedPartition): void {
    const { cluster, onError, onLeaderless } = this.#options;
    const { topic, partition } = owned;
    if (cluster.metadata.topic(topic)?.code === UNKNOWN_TOPIC)
      onError(owned, new UnknownTopicError(topic));
    else if (cluster.metadata.leader(topic, partition) === undefined) onLeaderless(owned);
  }

  #backOff(partitions: readonly OwnedPartition[]): void {
    const { metadata, runtime } = this.#options.cluster;
    const until = runtime.monotonic() + BACKOFF_MS;
    for (const partition of partitions)
      if (metadata.leader(partition.topic, partition.partition) === undefined)
        partition.backoffUntil = Math.max(partition.backoffUntil, until);
  }
}
