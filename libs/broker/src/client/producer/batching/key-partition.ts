import { partitionForKey } from '../../../records/index.js';

/** Short keys are hashed in memory that all share. A UTF-16 unit takes three bytes of UTF-8 at most. */
const scratch = Buffer.allocUnsafeSlow(3 * 256);
/** A view of each length, made once: a view per key costs more than the hashing. */
const views: (Buffer | undefined)[] = [];

/** The partition that every Java-compatible producer chooses; a text is hashed as its UTF-8. */
export function partitionOfKey(key: Buffer | string, partitionCount: number): number {
  if (typeof key !== 'string') return partitionForKey(key, partitionCount);
  if (key.length * 3 > scratch.length) return partitionForKey(Buffer.from(key), partitionCount);
  const length = scratch.write(key);
  const bytes = (views[length] ??= scratch.subarray(0, length));
  return partitionForKey(bytes, partitionCount);
}
