import { setMaxListeners } from 'node:events';

/**
 * Removes the listener limit of a signal that every partition or request waits for. Node reports
 * more than ten listeners as a possible leak.
 */
export function withoutListenerLimit(signal: AbortSignal): AbortSignal {
  setMaxListeners(0, signal);
  return signal;
}
