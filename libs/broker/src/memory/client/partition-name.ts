import type { TopicPartition } from '../../port/record.js';

export function nameOf({ topic, partition }: TopicPartition): string {
  return `${topic}-${partition}`;
}

export function listOf(partitions: readonly TopicPartition[]): string {
  return partitions.map(nameOf).join(', ');
}
