import { UnknownTopicError } from '../../../port/errors.js';
import { errorOfCode, type Metadata } from '../../../wire/index.js';

const UNKNOWN_TOPIC_OR_PARTITION = 3;

/** Returns the number of partitions of each topic, without topics that do not exist. */
export function partitionCounts(
  metadata: Metadata,
  topics: readonly string[],
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const topic of topics) {
    const count = metadata.topic(topic)?.partitions.length ?? 0;
    if (count > 0) counts.set(topic, count);
  }
  return counts;
}

export function missingTopics(metadata: Metadata, topics: readonly string[]): readonly string[] {
  const counts = partitionCounts(metadata, topics);
  return topics.filter((topic) => !counts.has(topic));
}

/** Returns the reason why the topic cannot be read. */
export function missingTopicError(metadata: Metadata, topic: string): Error {
  const code = metadata.topic(topic)?.code ?? UNKNOWN_TOPIC_OR_PARTITION;
  return code === 0 || code === UNKNOWN_TOPIC_OR_PARTITION
    ? new UnknownTopicError(topic)
    : errorOfCode(code, `Topic "${topic}" cannot be read`);
}
