import type { Runtime } from './runtime.js';

export interface BackoffOptions {
  readonly initialMs: number;
  readonly maxMs: number;
}

/**
 * Exponential delays with jitter. Half of the delay is fixed and half is random, so that many
 * clients do not retry at the same moment.
 */
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
