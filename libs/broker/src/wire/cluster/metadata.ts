import type { BrokerNode } from '../../port/admin.js';
import type { Runtime } from '../../runtime/index.js';
import { Deferred } from '../../runtime/index.js';
import type {
  MetadataAnswer,
  PartitionMetadata,
  TopicMetadata,
} from '../requests/metadata-request.js';

/** How old an answer may be before the shape of a topic is asked for again. */
export const METADATA_MAX_AGE_MS = 300_000;

interface Known extends TopicMetadata {
  readonly learntAt: number;
}

interface Round {
  readonly topics: Set<string>;
  readonly done: Deferred;
}

/**
 * What is known of the cluster: its brokers and the topics somebody has asked about. One request
 * is under way at a time; whoever asks meanwhile shares the next one.
 */
export class Metadata {
  readonly #runtime: Runtime;
  readonly #ask: (topics: readonly string[]) => Promise<MetadataAnswer>;
  readonly #topics = new Map<string, Known>();
  #brokers: ReadonlyMap<number, BrokerNode> = new Map();
  #clusterId: string | null = null;
  #controllerId = -1;
  #next: Round | undefined;
  #running = false;

  constructor(runtime: Runtime, ask: (topics: readonly string[]) => Promise<MetadataAnswer>) {
    this.#runtime = runtime;
    this.#ask = ask;
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

  /** What is known of the topic; `code` is not 0 where the broker could not tell. */
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

  /** The node to ask about the partition; undefined while it has no leader that we know. */
  leader(topic: string, partition: number): number | undefined {
    const leader = this.partition(topic, partition)?.leader ?? -1;
    return leader >= 0 ? leader : undefined;
  }

  /** Of that leader; -1 where it is not known. */
  leaderEpoch(topic: string, partition: number): number {
    return this.partition(topic, partition)?.leaderEpoch ?? -1;
  }

  /**
   * Asks unless every topic is known without an error and fresh. What others will soon want to know
   * again is asked for along: many sessions that look from time to time share their requests.
   */
  async load(topics: readonly string[], maxAgeMs = METADATA_MAX_AGE_MS): Promise<void> {
    const oldest = this.#runtime.monotonic() - maxAgeMs;
    const missing = topics.some((topic) => {
      const known = this.#topics.get(topic);
      return !known || known.code !== 0 || known.learntAt < oldest;
    });
    if (missing) await this.refresh([...topics, ...this.#olderThan(maxAgeMs / 2)]);
  }

  /** Asks the cluster; the answer is younger than this call. */
  refresh(topics: readonly string[]): Promise<void> {
    this.#next ??= { topics: new Set(), done: new Deferred() };
    for (const topic of topics) this.#next.topics.add(topic);
    const { promise } = this.#next.done;
    if (!this.#running) void this.#run();
    return promise;
  }

  forget(topic: string): void {
    this.#topics.delete(topic);
  }

  learn(answer: MetadataAnswer): void {
    this.#brokers = new Map(answer.brokers.map((broker) => [broker.id, broker]));
    this.#clusterId = answer.clusterId;
    this.#controllerId = answer.controllerId;
    const learntAt = this.#runtime.monotonic();
    for (const topic of answer.topics)
      this.#topics.set(topic.name, { ...this.#withoutOldLeaders(topic), learntAt });
  }

  /** A broker that we know may be back at another address: whoever names it as a coordinator says where. */
  learnAddress(id: number, { host, port }: Pick<BrokerNode, 'host' | 'port'>): void {
    const known = this.#brokers.get(id);
    if (!known || (known.host === host && known.port === port)) return;
    this.#brokers = new Map(this.#brokers).set(id, { ...known, host, port });
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#next) {
      const round: Round = this.#next;
      this.#next = undefined;
      try {
        this.learn(await this.#ask([...round.topics]));
        round.done.resolve();
      } catch (error) {
        round.done.reject(error);
      }
    }
    this.#running = false;
  }

  #olderThan(ageMs: number): readonly string[] {
    const oldest = this.#runtime.monotonic() - ageMs;
    const known = [...this.#topics.values()];
    return known
      .filter(({ code, learntAt }) => code === 0 && learntAt < oldest)
      .map(({ name }) => name);
  }

  /** A broker that lags behind answers with an older leader epoch: what we know already is better. */
  #withoutOldLeaders(topic: TopicMetadata): TopicMetadata {
    const before = this.#topics.get(topic.name);
    if (!before || before.id !== topic.id) return topic;
    const partitions = topic.partitions.map((partition) => {
      const known = before.partitions.find((other) => other.partition === partition.partition);
      return known && known.leaderEpoch > partition.leaderEpoch ? known : partition;
    });
    return { ...topic, partitions };
  }
}
