import type { TopicPartition } from '../../port/record.js';
import { byTopic, type Metadata, type TopicShare } from '../../wire/index.js';

/** Between the topic ids by which the broker assigns, and the names by which everybody else knows topics. */
export class AssignedTopics {
  /** By name; that of the last assignment, which metadata may be ahead of. */
  readonly #ids = new Map<string, string>();

  constructor(
    private readonly metadata: Pick<Metadata, 'topic'>,
    private readonly topics: readonly string[],
  ) {}

  /** A topic that was created again keeps its name: whoever reads it sees that it is another. */
  named(shares: readonly TopicShare[]): {
    readonly partitions: readonly TopicPartition[];
    /** Of topics that metadata has yet to tell of. */
    readonly unknown: readonly string[];
  } {
    const found = shares.map((share) => ({ ...share, topic: this.#nameOf(share.topicId) }));
    for (const { topic, topicId } of found) if (topic !== undefined) this.#ids.set(topic, topicId);
    const partitions = found.flatMap(({ topic, partitions: numbers }) =>
      topic === undefined ? [] : numbers.map((partition) => ({ topic, partition })),
    );
    const unknown = found.filter(({ topic }) => topic === undefined);
    return { partitions, unknown: unknown.map(({ topicId }) => topicId) };
  }

  shares(partitions: readonly TopicPartition[]): readonly TopicShare[] {
    return byTopic(partitions).map(([topic, those]) => ({
      topicId: this.#ids.get(topic) ?? '',
      partitions: those.map(({ partition }) => partition),
    }));
  }

  #nameOf(topicId: string): string | undefined {
    return (
      this.topics.find((name) => this.metadata.topic(name)?.id === topicId) ??
      this.topics.find((name) => this.#ids.get(name) === topicId)
    );
  }
}
