import { partitionName } from '../port/topic-partition.js';

/** Returns '0', '1', '2', ...: values that show their own order. */
export function numbered(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, index) => String(from + index));
}

/** Returns the partition names `orders-0`, `orders-1`, ... in order. */
export function namesOfPartitions(topic: string, count: number): string[] {
  return Array.from({ length: count }, (_, partition) =>
    partitionName({ topic, partition }),
  ).sort();
}
