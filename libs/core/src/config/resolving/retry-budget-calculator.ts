import type { ResolvedBinding, ResolvedTier0 } from './resolved-binding.js';

/** Chance only shortens waits, so the budget need not know of it. */
type Waits = Omit<ResolvedTier0, 'jitter'>;

export interface RetryBudgetInput {
  readonly tier0: Waits;
  readonly mode: 'in-line' | 'seek';
  readonly maxPollRecords: number;
  readonly maxPollIntervalMs: number;
  /** How long one call of the handler takes. */
  readonly expectedProcessingMs: number;
}

export interface RetryBudget {
  /** What one record may take at worst within one slice. */
  readonly recordMs: number;
  /** What a whole slice may take at worst. */
  readonly sliceMs: number;
  /** 70 % of maxPollIntervalMs; the slice must stay below. */
  readonly limitMs: number;
  readonly fits: boolean;
  /** The largest maxPollRecords that fits; 0 when a single record is too much. */
  readonly largestMaxPollRecords: number;
}

/**
 * How long retries may keep a slice, at worst: every record fails until its calls are used up, and
 * every wait is as long as it can be. Chance may shorten a wait, never lengthen it, so the plain
 * exponential series up to its cap is the worst case.
 *
 * The rule: `totalRetryTime x maxPollRecords < maxPollIntervalMs x 0.7`. With n calls there are
 * n - 1 waits. Where a record is given back and read again between two calls (`seek`), a slice ends
 * with the first wait: then the longest single wait counts, once.
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
      limitMs: (maxPollIntervalMs * 7) / 10,
      fits: isBelowLimit(sliceMs, maxPollIntervalMs),
      largestMaxPollRecords: largestThatFits(recordMs, onceMs, maxPollIntervalMs),
    };
  }

  /** Of the main topic first, then of each tier: a tier makes the same calls in memory for each delivery. */
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

  /** All waits of one record that never succeeds. */
  totalWaitMs(tier0: Waits): number {
    const { maxAttempts, initialBackoffMs, multiplier, maxBackoffMs } = tier0;
    let wait = Math.min(initialBackoffMs, maxBackoffMs);
    let total = 0;
    for (let left = maxAttempts - 1; left > 0; left -= 1) {
      const stays = wait === maxBackoffMs || wait === 0 || multiplier === 1;
      if (stays) return total + wait * left;
      total += wait;
      wait = Math.min(wait * multiplier, maxBackoffMs);
    }
    return total;
  }

  longestWaitMs({ maxAttempts, initialBackoffMs, multiplier, maxBackoffMs }: Waits): number {
    if (maxAttempts < 2) return 0;
    return Math.min(initialBackoffMs * multiplier ** (maxAttempts - 2), maxBackoffMs) || 0;
  }

  #recordMs({ tier0, mode, expectedProcessingMs }: RetryBudgetInput): number {
    if (mode === 'seek') return expectedProcessingMs;
    return this.totalWaitMs(tier0) + tier0.maxAttempts * expectedProcessingMs;
  }
}

/** In whole numbers: 0.7 has no exact binary form, and the comparison is strict. */
const isBelowLimit = (milliseconds: number, maxPollIntervalMs: number): boolean =>
  milliseconds * 10 < maxPollIntervalMs * 7;

function largestThatFits(recordMs: number, onceMs: number, maxPollIntervalMs: number): number {
  if (!isBelowLimit(onceMs, maxPollIntervalMs)) return 0;
  if (recordMs === 0) return Number.MAX_SAFE_INTEGER;
  return Math.ceil((maxPollIntervalMs * 7 - onceMs * 10) / (recordMs * 10)) - 1;
}
