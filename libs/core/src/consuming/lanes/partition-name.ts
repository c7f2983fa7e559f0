/** As it is logged, and as it is looked up. */
export function nameOf(topic: string, partition: number): string {
  return `${topic}-${partition}`;
}
