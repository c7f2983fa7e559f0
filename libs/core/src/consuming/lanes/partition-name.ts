/** As it is logged, and as it is looked up. */
export function partitionName(topic: string, partition: number): string {
  return `${topic}-${partition}`;
}
