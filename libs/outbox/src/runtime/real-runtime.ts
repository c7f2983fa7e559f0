import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { performance } from 'node:perf_hooks';
// Imported instead of using the globals. In a test environment that was torn down, or with fake
// timers, the global timers never fire.
import { clearTimeout, setImmediate, setTimeout } from 'node:timers';
import type { Runtime } from './runtime.js';

/** The longest delay of Node's timers; a longer one would fire at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

export const realRuntime: Runtime = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(callback, delayMs, options) {
    const handle = setTimeout(callback, Math.min(Math.max(delayMs, 0), LONGEST_DELAY_MS));
    if (options?.background) handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
  defer: (callback) => void setImmediate(callback),
  random: () => Math.random(),
  uuid: () => randomUUID(),
  hostname: () => hostname(),
};
