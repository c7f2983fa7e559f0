import type { TopicPartition } from '../../../port/record.js';
import { byTopic, type Metadata, type TopicIdPartitions } from '../../../wire/index.js';

/** Between the topic ids by which the broker assigns, and the names by which everybody else knows topics. */
export class AssignedTopics {
  /** By name; that of the last assignment, which metadata may be ahead of. */
  readonly #idByName = new Map<string, string>();

  constructor(
    private readonly metadata: Pick<Metadata, 'topic'>,
    private readonly topics: readonly string[],
  ) {}

  /** A topic that was created again keeps its name: whoever reads it sees that it is another. */
  toPartitions(shares: readonly TopicIdPartitions[]): {
    readonly partitions: readonly TopicPartition[];
    /** Of topics that metadata has yet to tell of. */
    readonly unknown: readonly string[];
  } {
    const found = shares.map((share) => ({ ...share, topic: this.#findName(share.topicId) }));
    for (const { topic, topicId } of found)
      if (topic !== undefined) this.#idByName.set(topic, topicId);
    const partitions = found.flatMap(({ topic, partitions: numbers }) =>
      topic === undefined ? [] : numbers.map((partition) => ({ topic, partition })),
    );
    const unknown = found.filter(({ topic }) => topic === undefined);
    return { partitions, unknown: unknown.map(({ topicId }) => topicId) };
  }

  toShares(partitions: readonly TopicPartition[]): readonly TopicIdPartitions[] {
    return byTopic(partitions).map(([topic, those]) => ({
      topicId: this.#idByName.get(topic) ?? '',
      partitions: those.map(({ partition }) => partition),
    }));
  }

  #findName(topicId: string): string | undefined {
    return (
      this.topics.find((name) => this.metadata.topic(name)?.id === topicId) ??
      this.topics.find((name) => this.#idByName.get(name) === topicId)
    );
  }
}
