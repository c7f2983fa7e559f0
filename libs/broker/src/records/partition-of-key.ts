import { murmur2 } from './murmur2.js';

/**
 * A shared buffer in which short keys are hashed. A UTF-16 unit takes at most three bytes of UTF-8.
 */
const scratch = Buffer.allocUnsafeSlow(3 * 256);
/**
 * Cached views of the shared buffer, by length, because a new view for each key costs more than the
 * hashing.
 */
const views: (Buffer | undefined)[] = [];

/**
 * Returns the partition that every Java-compatible producer chooses for the key. A text is hashed as
 * UTF-8. An empty key is a key.
 */
export function partitionOfKey(key: Uint8Array | string, partitionCount: number): number {
  if (typeof key !== 'string') return partitionOfBytes(key, partitionCount);
  if (key.length * 3 > scratch.length) return partitionOfBytes(Buffer.from(key), partitionCount);
  const length = scratch.write(key);
  const bytes = (views[length] ??= scratch.subarray(0, length));
  return partitionOfBytes(bytes, partitionCount);
}

function partitionOfBytes(bytes: Uint8Array, partitionCount: number): number {
  return (murmur2(bytes) & 0x7fffffff) % partitionCount;
}
