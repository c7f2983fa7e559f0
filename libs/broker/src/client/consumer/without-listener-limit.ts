import { setMaxListeners } from 'node:events';

/** A signal that every partition or request waits for at once: Node takes more than ten listeners for a leak, and says so. */
export function withoutListenerLimit(signal: AbortSignal): AbortSignal {
  setMaxListeners(0, signal);
  return signal;
}
