import type { DriverLogger } from '@nest-event-bus/broker';
import type { ResolvedBinding, ResolvedTier0 } from '../../config/resolving/resolved-binding.js';
import { createErrorJudge, type ErrorJudge } from './error-judge.js';

/** The retry settings of a binding. All deliveries share them, because they never change. */
export interface RetryConfig {
  readonly mode: ResolvedBinding['retry']['mode'];
  /** The maximum number of calls, including the first one. */
  readonly maxAttempts: number;
  /** The time after the start of the slice in which a call may still begin. */
  readonly limitMs: number;
  readonly expectedProcessingMs: number;
  readonly judge: ErrorJudge;
  /** Returns the wait between call n and the next. `chance` is a random number, 0 <= x < 1. */
  waitAfter(call: number, chance: number): number;
}

export type RetrySource = Pick<
  ResolvedBinding,
  'name' | 'retry' | 'maxPollIntervalMs' | 'expectedProcessingMs'
>;

export class RetryConfigFactory {
  create(binding: RetrySource, logger: DriverLogger): RetryConfig {
    const { retry, maxPollIntervalMs, expectedProcessingMs } = binding;
    return Object.freeze({
      mode: retry.mode,
      maxAttempts: retry.tier0.maxAttempts,
      limitMs: (maxPollIntervalMs * 7) / 10,
      expectedProcessingMs,
      judge: createErrorJudge(binding, logger),
      waitAfter: (call: number, chance: number) => waitAfter(retry.tier0, call, chance),
    });
  }
}

/**
 * Returns the wait, of which one half is fixed and one half is random, so that many records do not
 * retry at once. Without jitter all of it is fixed. The random half only shortens the wait, so the
 * cap and the calculated retry budget stay valid.
 */
function waitAfter(tier0: ResolvedTier0, call: number, chance: number): number {
  const { initialBackoffMs, multiplier, maxBackoffMs, jitter } = tier0;
  if (initialBackoffMs === 0) return 0;
  // The power is Infinity for a large number of calls, and the cap applies.
  const full = Math.min(initialBackoffMs * multiplier ** (call - 1), maxBackoffMs);
  return jitter === 'none' ? full : full * (1 - chance / 2);
}

/**
 * Returns the settings for slices. The records before the failed one are done, and the partition is
 * read again from there.
 */
export function withSeekMode(config: RetryConfig): RetryConfig {
  return { ...config, mode: 'seek' };
}
