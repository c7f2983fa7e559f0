import type { TopicPartition } from './record.js';

export function isSame(one: TopicPartition, other: TopicPartition): boolean {
  return one.partition === other.partition && one.topic === other.topic;
}
