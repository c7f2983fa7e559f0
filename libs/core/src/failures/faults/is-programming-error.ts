import { faultOf } from './fault-of.js';
import { readThrown } from './thrown.js';

/** Messages of the TypeErrors that fetch throws when the network fails. */
const OF_FETCH: ReadonlySet<string> = new Set(['fetch failed', 'terminated']);

/** Recognises TypeErrors that a programming mistake causes, as NullPointerException and ClassCastException in Java. */
export function isProgrammingError(error: Error): boolean {
  const { names, message } = readThrown(error);
  return names.has('TypeError') && !OF_FETCH.has(message) && faultOf(error) !== 'dependency';
}
