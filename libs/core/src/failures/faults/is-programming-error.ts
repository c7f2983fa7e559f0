import { faultOf } from './fault-of.js';
import { readThrown } from './thrown.js';

/** Messages of the TypeErrors that fetch throws when the network fails. */
const OF_FETCH: ReadonlySet<string> = new Set(['fetch failed', 'terminated']);

/**
 * Returns whether a TypeError was caused by a programming mistake, like NullPointerException and
 * ClassCastException in Java.
 */
export function isProgrammingError(error: Error): boolean {
  const { names, message } = readThrown(error);
  return names.has('TypeError') && !OF_FETCH.has(message) && faultOf(error) !== 'dependency';
}
