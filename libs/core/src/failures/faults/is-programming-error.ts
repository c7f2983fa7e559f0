import { faultOf } from './fault-of.js';
import { readThrown } from './thrown.js';

/** What fetch throws when the network failed is a TypeError as well, of these few words. */
const OF_FETCH: ReadonlySet<string> = new Set(['fetch failed', 'terminated']);

/** What Java has NullPointerException and ClassCastException for. */
export function isProgrammingError(error: Error): boolean {
  const { names, message } = readThrown(error);
  return names.has('TypeError') && !OF_FETCH.has(message) && faultOf(error) !== 'dependency';
}
