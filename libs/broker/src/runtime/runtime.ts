/** The world outside: time, chance and identity. Nothing else in the libraries may ask for them. */
export interface Runtime {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds that never go backwards, for measuring durations. */
  monotonic(): number;
  /** Calls back once. A real timer keeps the process alive unless `background` says otherwise. */
  setTimer(callback: () => void, delayMs: number, options?: TimerOptions): Timer;
  /** Calls back after pending input and output had a turn; takes no time. */
  defer(callback: () => void): void;
  /** 0 <= x < 1 */
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
