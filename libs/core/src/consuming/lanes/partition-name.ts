/** Name of a partition in logs and as a key. */
export function partitionName(topic: string, partition: number): string {
  return `${topic}-${partition}`;
}
