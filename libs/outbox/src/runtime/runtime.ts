/**
 * Access to time, randomness and identity. No other code of the outbox uses them directly. The
 * Runtime of the broker package has these members too, so both packages can share one.
 */
export interface Runtime {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds of a monotonic clock, for measuring durations. */
  monotonic(): number;
  /**
   * Calls back once, after the delay. A real timer keeps the process alive unless `background` is
   * true.
   */
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
