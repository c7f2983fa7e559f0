import type { ResolvedBinding, ResolvedTier0 } from './resolved-binding.js';

/**
 * Backoff without jitter and time limit. Both only shorten the retries, so the worst case does not
 * depend on them.
 */
type Backoffs = Omit<ResolvedTier0, 'jitter' | 'maxElapsedMs'>;

export interface RetryBudgetInput {
  readonly tier0: Backoffs;
  readonly mode: 'in-line' | 'seek';
  readonly maxPollRecords: number;
  readonly maxPollIntervalMs: number;
  /** Expected duration of one handler call. */
  readonly expectedProcessingMs: number;
}

export interface RetryBudget {
  /** Longest time that the calls and delays of one record can take in its slice (one poll's records). */
  readonly recordMs: number;
  /** Longest time that a whole slice may take. */
  readonly sliceMs: number;
  /** Limit for `sliceMs`: 70 % of maxPollIntervalMs. The slice must take less. */
  readonly limitMs: number;
  readonly fits: boolean;
  /** The largest maxPollRecords that fits; 0 if even a single record takes too long. */
  readonly largestMaxPollRecords: number;
}

/**
 * Calculates how long retries may delay a slice in the worst case: every record fails until its
 * attempts are used up, and every delay has its full length. Jitter only shortens a delay, so the
 * worst case is the exponential series with its upper limit, without jitter. The rule is
 * `totalRetryTime x maxPollRecords < maxPollIntervalMs x 0.7`. With n calls there are n - 1 delays.
 * In mode `seek` the record is returned and read again between two calls, so a slice ends with the
 * first delay: only the longest delay is added, and only once.
 */
export class RetryBudgetCalculator {
  calculate(input: RetryBudgetInput): RetryBudget {
    const { maxPollRecords, maxPollIntervalMs } = input;
    const recordMs = this.#recordMs(input);
    const onceMs = input.mode === 'seek' ? this.longestWaitMs(input.tier0) : 0;
    const sliceMs = recordMs * maxPollRecords + onceMs;
    return {
      recordMs,
      sliceMs,
      limitMs: budgetLimitMs(maxPollIntervalMs),
      fits: isBelowLimit(sliceMs, maxPollIntervalMs),
      largestMaxPollRecords: largestThatFits(recordMs, onceMs, maxPollIntervalMs),
    };
  }

  /**
   * Returns the budget of the main topic, then of each tier. They are equal, because a tier retries
   * in memory like the main topic.
   */
  calculateAll(
    binding: Omit<RetryBudgetInput, 'tier0' | 'mode'> & Pick<ResolvedBinding, 'topic' | 'retry'>,
  ): readonly (RetryBudget & { readonly topic: string })[] {
    const { retry, maxPollRecords, maxPollIntervalMs, expectedProcessingMs } = binding;
    const { tier0, mode } = retry;
    const budget = this.calculate({
      tier0,
      mode,
      maxPollRecords,
      maxPollIntervalMs,
      expectedProcessingMs,
    });
    return [binding, ...retry.tiers].map(({ topic }) => ({ topic, ...budget }));
  }

  /** Returns the sum of all delays of a record that never succeeds. */
  totalWaitMs(tier0: Backoffs): number {
    const { maxAttempts, initialBackoffMs, multiplier, maxBackoffMs } = tier0;
    let wait = Math.min(initialBackoffMs, maxBackoffMs);
    let total = 0;
    for (let left = maxAttempts - 1; left > 0; left -= 1) {
      const isConstant = wait === maxBackoffMs || wait === 0 || multiplier === 1;
      if (isConstant) return total + wait * left;
      total += wait;
      wait = Math.min(wait * multiplier, maxBackoffMs);
    }
    return total;
  }

  longestWaitMs({ maxAttempts, initialBackoffMs, multiplier, maxBackoffMs }: Backoffs): number {
    if (maxAttempts < 2) return 0;
    return Math.min(initialBackoffMs * multiplier ** (maxAttempts - 2), maxBackoffMs) || 0;
  }

  #recordMs({ tier0, mode, expectedProcessingMs }: RetryBudgetInput): number {
    if (mode === 'seek') return expectedProcessingMs;
    return this.totalWaitMs(tier0) + tier0.maxAttempts * expectedProcessingMs;
  }
}

/**
 * Returns the time limit of a slice with its retries. It is checked at start and again while the
 * slice is handled.
 */
export const budgetLimitMs = (maxPollIntervalMs: number): number => (maxPollIntervalMs * 7) / 10;

/** Compares integers, because 0.7 has no exact binary form and equal values must be refused. */
const isBelowLimit = (milliseconds: number, maxPollIntervalMs: number): boolean =>
  milliseconds * 10 < maxPollIntervalMs * 7;

function largestThatFits(recordMs: number, onceMs: number, maxPollIntervalMs: number): number {
  if (!isBelowLimit(onceMs, maxPollIntervalMs)) return 0;
  if (recordMs === 0) return Number.MAX_SAFE_INTEGER;
  return Math.ceil((maxPollIntervalMs * 7 - onceMs * 10) / (recordMs * 10)) - 1;
}
