import type { TopicPartition } from './record.js';

export function isSamePartition(one: TopicPartition, other: TopicPartition): boolean {
  return one.partition === other.partition && one.topic === other.topic;
}

/** Returns `topic/partition`: a key for maps, and a name for messages. */
export const partitionKey = ({ topic, partition }: TopicPartition): string =>
  `${topic}/${partition}`;

/** Returns the display name of a partition, such as `orders-0`. */
export function partitionName({ topic, partition }: TopicPartition): string {
  return `${topic}-${partition}`;
}

export function partitionNames(partitions: readonly TopicPartition[]): string {
  return partitions.map(partitionName).join(', ');
}
