import type { TopicPartition } from '../../port/record.js';
import type { FieldReader } from './field-reader.js';
import type { FieldWriter } from './field-writer.js';

/**
 * Compares UTF-16 units, as Java's String.compareTo does: all clients in a group must sort alike.
 */
export function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/**
 * Writes [topic, [partition]], sorted: equal sets give equal bytes, so that a rejoin is recognised
 * as unchanged.
 */
export function writeTopicPartitions(
  writer: FieldWriter,
  partitions: readonly TopicPartition[],
): void {
  const topics = [...byTopic(partitions)].sort(([left], [right]) => compareText(left, right));
  writer.list(topics, ([topic, numbers]) => {
    writer.string(topic);
    writer.list(
      [...numbers].sort((left, right) => left - right),
      (partition) => writer.int32(partition),
    );
  });
}

export function readTopicPartitions(reader: FieldReader): TopicPartition[] {
  const topics = reader.list(() => {
    const topic = reader.string();
    return reader.list((): TopicPartition => ({ topic, partition: reader.int32() }));
  });
  return topics.flat();
}

export function byTopic(partitions: Iterable<TopicPartition>): Map<string, Set<number>> {
  const topics = new Map<string, Set<number>>();
  for (const { topic, partition } of partitions) {
    const numbers = topics.get(topic);
    if (numbers === undefined) topics.set(topic, new Set([partition]));
    else numbers.add(partition);
  }
  return topics;
}
