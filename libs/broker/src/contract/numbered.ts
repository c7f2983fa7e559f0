/** '0', '1', '2', ...: values that tell their own order. */
export function numbered(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, index) => String(from + index));
}
