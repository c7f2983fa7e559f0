const PRIME_1 = 0x9e3779b1;
const PRIME_2 = 0x85ebca77;
const PRIME_3 = 0xc2b2ae3d;
const PRIME_4 = 0x27d4eb2f;
const PRIME_5 = 0x165667b1;

/** Computes the checksum of LZ4 frames, with seed 0. */
export function xxhash32(bytes: Uint8Array, start: number, end: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = start;
  let hash = PRIME_5;
  if (end - at >= 16) {
    const accumulators = [PRIME_1 + PRIME_2, PRIME_2, 0, -PRIME_1];
    for (; at <= end - 16; at += 16) {
      for (let index = 0; index < 4; index++) {
        const word = Math.imul(view.getInt32(at + index * 4, true), PRIME_2);
        accumulators[index] = Math.imul(
          rotated(((accumulators[index] as number) + word) | 0, 13),
          PRIME_1,
        );
      }
    }
    const [first = 0, second = 0, third = 0, fourth = 0] = accumulators;
    hash = rotated(first, 1) + rotated(second, 7) + rotated(third, 12) + rotated(fourth, 18);
  }
  hash = (hash + end - start) | 0;
  for (; at <= end - 4; at += 4) {
    const word = Math.imul(view.getInt32(at, true), PRIME_3);
    hash = Math.imul(rotated((hash + word) | 0, 17), PRIME_4);
  }
  for (; at < end; at++) {
    hash = Math.imul(rotated((hash + Math.imul(bytes[at] as number, PRIME_5)) | 0, 11), PRIME_1);
  }
  return avalanche(hash);
}

function avalanche(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 15), PRIME_2);
  mixed = Math.imul(mixed ^ (mixed >>> 13), PRIME_3);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

function rotated(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
