/** Up to this length a loop is faster than a call into native code. */
const SHORT = 32;

/**
 * Copies the bytes of `source` from `from` to `end`. Returns the position after them in `target`.
 */
export function copyBytes(
  source: Uint8Array,
  from: number,
  end: number,
  target: Uint8Array,
  at: number,
): number {
  if (end - from > SHORT) {
    target.set(source.subarray(from, end), at);
    return at + end - from;
  }
  while (from < end) target[at++] = source[from++] as number;
  return at;
}
