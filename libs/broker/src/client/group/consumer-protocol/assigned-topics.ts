import type { TopicPartition } from '../../../port/record.js';
import { byTopic, type Metadata, type TopicIdPartitions } from '../../../wire/index.js';

/** Translates the topic ids that the broker assigns into topic names, which all other code uses. */
export class AssignedTopics {
  /** Topic ids by name, as of the last assignment. The metadata may already have a newer id. */
  readonly #idByName = new Map<string, string>();

  constructor(
    private readonly metadata: Pick<Metadata, 'topic'>,
    private readonly topics: readonly string[],
  ) {}

  /**
   * Translates the assignment to topic names. A recreated topic keeps its name, and its readers
   * detect the new id themselves.
   */
  toPartitions(shares: readonly TopicIdPartitions[]): {
    readonly partitions: readonly TopicPartition[];
    /** Ids of topics that are not in the metadata yet. */
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
