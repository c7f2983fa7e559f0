import { positiveDuration } from '../errors/checks.js';
import { realRuntime } from '../runtime/real-runtime.js';

export interface RetryPolicy {
  /** Returns the delay after this number of failed attempts, from 1 on. */
  computeDelayMs(attempts: number): number;
}

/** `min(maxDelayMs, baseDelayMs * 2^(attempts - 1))`, multiplied by a random factor of 0.5 to 1.5. */
export class ExponentialBackoffRetryPolicy implements RetryPolicy {
  constructor(
    private readonly baseDelayMs = 200,
    private readonly maxDelayMs = 60_000,
    private readonly random: () => number = () => realRuntime.random(),
  ) {
    positiveDuration('baseDelayMs', baseDelayMs);
    positiveDuration('maxDelayMs', maxDelayMs);
  }

  computeDelayMs(attempts: number): number {
    const full = this.baseDelayMs * 2 ** Math.max(0, attempts - 1);
    return Math.round(Math.min(this.maxDelayMs, full) * (0.5 + this.random()));
  }
}
