import type { Runtime } from './runtime.js';

export interface BackoffOptions {
  readonly initialMs: number;
  readonly maxMs: number;
}

/** Exponential delays with jitter: half of the delay is fixed, half is chance, so that many never knock at once. */
export class Backoff {
  #failures = 0;

  constructor(
    private readonly runtime: Runtime,
    private readonly options: BackoffOptions,
  ) {}

  next(): number {
    const { initialMs, maxMs } = this.options;
    const full = Math.min(maxMs, initialMs * 2 ** Math.min(this.#failures++, 30));
    return full / 2 + this.runtime.random() * (full / 2);
  }

  reset(): void {
    this.#failures = 0;
  }
}
