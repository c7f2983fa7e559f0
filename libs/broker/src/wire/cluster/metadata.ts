import type { BrokerNode } from '../../port/admin.js';
import type { Runtime } from '../../runtime/index.js';
import { Deferred } from '../../runtime/index.js';
import type {
  MetadataResponse,
  PartitionMetadata,
  TopicMetadata,
} from '../requests/metadata-request.js';

/** The age after which the metadata of a topic are requested again. */
export const METADATA_MAX_AGE_MS = 300_000;

interface CachedTopic extends TopicMetadata {
  readonly fetchedAt: number;
}

interface PendingRefresh {
  readonly topics: Set<string>;
  readonly done: Deferred;
}

/**
 * The known brokers, and the topics that sessions have requested. Only one request is in flight at
 * a time. Calls during a request share the next one.
 */
export class Metadata {
  readonly #runtime: Runtime;
  readonly #fetch: (topics: readonly string[]) => Promise<MetadataResponse>;
  readonly #topics = new Map<string, CachedTopic>();
  #brokers: ReadonlyMap<number, BrokerNode> = new Map();
  #clusterId: string | null = null;
  #controllerId = -1;
  #pending: PendingRefresh | undefined;
  #isRefreshing = false;

  constructor(runtime: Runtime, ask: (topics: readonly string[]) => Promise<MetadataResponse>) {
    this.#runtime = runtime;
    this.#fetch = ask;
  }

  get brokers(): ReadonlyMap<number, BrokerNode> {
    return this.#brokers;
  }

  get clusterId(): string | null {
    return this.#clusterId;
  }

  get controllerId(): number {
    return this.#controllerId;
  }

  /**
   * Returns the metadata of the topic. `code` is not 0 if the broker could not describe the topic.
   */
  topic(name: string): TopicMetadata | undefined {
    return this.#topics.get(name);
  }

  partition(topic: string, partition: number): PartitionMetadata | undefined {
    const known = this.#topics.get(topic)?.partitions;
    const guess = known?.[partition];
    return guess?.partition === partition
      ? guess
      : known?.find((candidate) => candidate.partition === partition);
  }

  /** Returns the node that leads the partition; undefined while no leader is known. */
  leader(topic: string, partition: number): number | undefined {
    const leader = this.partition(topic, partition)?.leader ?? -1;
    return leader >= 0 ? leader : undefined;
  }

  /** Returns the epoch of that leader, or -1 if it is not known. */
  leaderEpoch(topic: string, partition: number): number {
    return this.partition(topic, partition)?.leaderEpoch ?? -1;
  }

  /**
   * Requests metadata, unless the metadata of every topic are known, without an error and recent.
   * The request includes all topics whose metadata will expire soon, so that many sessions share
   * their requests.
   */
  async load(topics: readonly string[], maxAgeMs = METADATA_MAX_AGE_MS): Promise<void> {
    const oldest = this.#runtime.monotonic() - maxAgeMs;
    const missing = topics.some((topic) => {
      const known = this.#topics.get(topic);
      return !known || known.code !== 0 || known.fetchedAt < oldest;
    });
    if (missing) await this.refresh([...topics, ...this.#olderThan(maxAgeMs / 2)]);
  }

  /** Requests metadata. The metadata are always newer than this call. */
  refresh(topics: readonly string[]): Promise<void> {
    this.#pending ??= { topics: new Set(), done: new Deferred() };
    for (const topic of topics) this.#pending.topics.add(topic);
    const { promise } = this.#pending.done;
    if (!this.#isRefreshing) void this.#refreshInTurn();
    return promise;
  }

  forget(topic: string): void {
    this.#topics.delete(topic);
  }

  update(answer: MetadataResponse): void {
    this.#brokers = new Map(answer.brokers.map((broker) => [broker.id, broker]));
    this.#clusterId = answer.clusterId;
    this.#controllerId = answer.controllerId;
    const fetchedAt = this.#runtime.monotonic();
    for (const topic of answer.topics)
      this.#topics.set(topic.name, { ...this.#keepNewerLeaders(topic), fetchedAt });
  }

  /**
   * Updates the address of a broker that was restarted on another host or port, as a coordinator's
   * response names it.
   */
  updateAddress(id: number, { host, port }: Pick<BrokerNode, 'host' | 'port'>): void {
    const known = this.#brokers.get(id);
    if (!known || (known.host === host && known.port === port)) return;
    this.#brokers = new Map(this.#brokers).set(id, { ...known, host, port });
  }

  async #refreshInTurn(): Promise<void> {
    this.#isRefreshing = true;
    while (this.#pending) {
      const refresh: PendingRefresh = this.#pending;
      this.#pending = undefined;
      try {
        this.update(await this.#fetch([...refresh.topics]));
        refresh.done.resolve();
      } catch (error) {
        refresh.done.reject(error);
      }
    }
    this.#isRefreshing = false;
  }

  #olderThan(ageMs: number): readonly string[] {
    const oldest = this.#runtime.monotonic() - ageMs;
    const known = [...this.#topics.values()];
    return known
      .filter(({ code, fetchedAt }) => code === 0 && fetchedAt < oldest)
      .map(({ name }) => name);
  }

  /**
   * Keeps the known leader of a partition if the response has an older leader epoch, because that
   * broker lags behind.
   */
  #keepNewerLeaders(topic: TopicMetadata): TopicMetadata {
    const before = this.#topics.get(topic.name);
    if (!before || before.id !== topic.id) return topic;
    const partitions = topic.partitions.map((partition) => {
      const known = before.partitions.find((other) => other.partition === partition.partition);
      return known && known.leaderEpoch > partition.leaderEpoch ? known : partition;
    });
    return { ...topic, partitions };
  }
}
