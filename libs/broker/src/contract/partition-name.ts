import type { TopicPartition } from '../port/record.js';

/** For comparing and for reading: `orders-0`. */
export function nameOf({ topic, partition }: TopicPartition): string {
  return `${topic}-${partition}`;
}

/** `orders-0`, `orders-1`, ... in order. */
export function namesOf(topic: string, count: number): string[] {
  return Array.from({ length: count }, (_, partition) => nameOf({ topic, partition })).sort();
}
