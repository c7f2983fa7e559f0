import { partitionForKey } from '../../../records/index.js';

/**
 * A shared buffer in which short keys are hashed. A UTF-16 unit takes at most three bytes of UTF-8.
 */
const scratch = Buffer.allocUnsafeSlow(3 * 256);
/**
 * Cached views of the shared buffer, by length: a new view for each key costs more than the
 * hashing.
 */
const views: (Buffer | undefined)[] = [];

/** Returns the partition that every Java-compatible producer chooses. A text is hashed as UTF-8. */
export function partitionOfKey(key: Buffer | string, partitionCount: number): number {
  if (typeof key !== 'string') return partitionForKey(key, partitionCount);
  if (key.length * 3 > scratch.length) return partitionForKey(Buffer.from(key), partitionCount);
  const length = scratch.write(key);
  const bytes = (views[length] ??= scratch.subarray(0, length));
  return partitionForKey(bytes, partitionCount);
}
