import type { NewTopic } from '../../../port/admin.js';
import type { TopicPartition } from '../../../port/record.js';
import type { Runtime } from '../../../runtime/index.js';
import { Partition } from './partition.js';
import { Refusal } from '../faults/refusal.js';
import { TopicConfig } from './topic-config.js';

export interface Topic {
  readonly name: string;
  readonly id: string;
  readonly config: TopicConfig;
  readonly partitions: Partition[];
}

export interface TopicDefaults {
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly brokers: number;
}

const LEGAL_NAME = /^[A-Za-z0-9._-]{1,249}$/;

/** The topics of the cluster. A lookup never creates a topic. */
export class Topics {
  readonly #topics = new Map<string, Topic>();
  readonly #onDeleted: ((topic: string) => void)[] = [];
  #nextReplica = 0;

  constructor(
    private readonly runtime: Runtime,
    private readonly defaults: TopicDefaults,
  ) {}

  onDeleted(listener: (topic: string) => void): void {
    this.#onDeleted.push(listener);
  }

  find(name: string): Topic | undefined {
    return this.#topics.get(name);
  }

  all(): readonly Topic[] {
    return [...this.#topics.values()];
  }

  get(name: string): Topic {
    const topic = this.#topics.get(name);
    if (!topic) throw new Refusal('UNKNOWN_TOPIC_OR_PARTITION', `there is no topic "${name}"`);
    return topic;
  }

  /** Returns the partition after applying retention; refuses while it has no leader. */
  partitionAtLeader({ topic, partition }: TopicPartition): Partition {
    const found = this.get(topic).partitions[partition];
    if (!found)
      throw new Refusal(
        'UNKNOWN_TOPIC_OR_PARTITION',
        `topic "${topic}" has no partition ${partition}`,
      );
    if (found.leader < 0)
      throw new Refusal('LEADER_NOT_AVAILABLE', `${topic}/${partition} has no leader at present`);
    found.applyRetention();
    return found;
  }

  create({ name, partitions, replicationFactor, config }: NewTopic): Topic {
    if (!LEGAL_NAME.test(name) || name === '.' || name === '..')
      throw new Refusal('INVALID_TOPIC', `"${name}" is no legal topic name`);
    if (this.#topics.has(name))
      throw new Refusal('TOPIC_ALREADY_EXISTS', `topic "${name}" exists already`);
    const topic: Topic = {
      name,
      id: this.runtime.uuid(),
      config: new TopicConfig(config),
      partitions: [],
    };
    const factor = replicationFactor ?? this.defaults.replicationFactor;
    this.#growTo(topic, partitions ?? this.defaults.partitions, factor);
    this.#topics.set(name, topic);
    return topic;
  }

  addPartitions(name: string, total: number): void {
    const topic = this.get(name);
    const count = topic.partitions.length;
    if (!Number.isSafeInteger(total) || total <= count)
      throw new Refusal(
        'INVALID_PARTITIONS',
        `topic "${name}" has ${count} partitions and cannot have fewer than before; ${total} were requested`,
      );
    this.#growTo(topic, total, topic.partitions[0]?.replicas.length ?? 1);
  }

  delete(name: string): void {
    const topic = this.get(name);
    this.#topics.delete(name);
    for (const listener of this.#onDeleted) listener(name);
    for (const partition of topic.partitions) partition.notifyWatchers();
  }

  #growTo(topic: Topic, total: number, factor: number): void {
    const { brokers } = this.defaults;
    if (!Number.isSafeInteger(total) || total < 1)
      throw new Refusal('INVALID_PARTITIONS', `a topic cannot have ${total} partitions`);
    if (!Number.isSafeInteger(factor) || factor < 1 || factor > brokers)
      throw new Refusal(
        'INVALID_REPLICATION_FACTOR',
        `${factor} replicas cannot be placed on ${brokers} broker(s)`,
      );
    while (topic.partitions.length < total) {
      const first = this.#nextReplica++;
      const replicas = Array.from(
        { length: factor },
        (_, index) => ((first + index) % brokers) + 1,
      );
      const index = topic.partitions.length;
      topic.partitions.push(new Partition(topic.name, index, replicas, topic.config, this.runtime));
    }
  }
}
