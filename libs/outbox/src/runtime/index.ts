export type { Runtime, Timer, TimerOptions } from './runtime.js';
export { realRuntime } from './real-runtime.js';
