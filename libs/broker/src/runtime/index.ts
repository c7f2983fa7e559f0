export { Backoff, type BackoffOptions } from './backoff.js';
export type { Runtime, Timer, TimerOptions } from './runtime.js';
export { realRuntime } from './real-runtime.js';
export { VirtualRuntime, type VirtualRuntimeOptions } from './virtual-runtime.js';
export { Deferred, abortable, resolvesWithin, sleep, within } from './waiting.js';
