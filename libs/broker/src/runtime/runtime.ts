/**
 * Access to time, randomness and identity. No other code in the libraries may use them directly.
 */
export interface Runtime {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds of a monotonic clock, for measuring durations. */
  monotonic(): number;
  /** Calls back once. A real timer keeps the process alive unless `background` is true. */
  setTimer(callback: () => void, delayMs: number, options?: TimerOptions): Timer;
  /** Calls back after pending input and output was handled, without advancing time. */
  defer(callback: () => void): void;
  /** A random number x with 0 <= x < 1. */
  random(): number;
  uuid(): string;
  hostname(): string;
}

export interface TimerOptions {
  readonly background?: boolean;
}

export interface Timer {
  cancel(): void;
}
