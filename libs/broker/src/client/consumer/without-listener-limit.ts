import { setMaxListeners } from 'node:events';

/**
 * Removes the listener limit of a signal on which every partition or request listens. Node.js would
 * report more than ten listeners as a possible leak.
 */
export function withoutListenerLimit(signal: AbortSignal): AbortSignal {
  setMaxListeners(0, signal);
  return signal;
}
