const SEED = 0x9747b28c;
const MULTIPLIER = 0x5bd1e995;

/**
 * Computes Java's `org.apache.kafka.common.utils.Utils.murmur2`: the same signed 32 bits for the
 * same bytes.
 */
export function murmur2(bytes: Uint8Array): number {
  const length = bytes.length;
  const whole = length & ~3;
  let hash = SEED ^ length;
  for (let at = 0; at < whole; at += 4) {
    let word =
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24);
    word = Math.imul(word, MULTIPLIER);
    word = Math.imul(word ^ (word >>> 24), MULTIPLIER);
    hash = Math.imul(hash, MULTIPLIER) ^ word;
  }
  if (length > whole) hash = mixTail(hash, bytes, whole);
  hash = Math.imul(hash ^ (hash >>> 13), MULTIPLIER);
  return hash ^ (hash >>> 15);
}

function mixTail(hash: number, bytes: Uint8Array, from: number): number {
  let mixed = hash;
  for (let at = bytes.length - 1; at >= from; at--)
    mixed ^= (bytes[at] as number) << ((at - from) * 8);
  return Math.imul(mixed, MULTIPLIER);
}
