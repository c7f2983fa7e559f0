import type { DriverLogger } from '@nest-event-bus/broker';
import type { ResolvedBinding, ResolvedTier0 } from '../../config/resolving/resolved-binding.js';
import { createErrorJudge, type ErrorJudge } from './error-judge.js';

/** What a retry needs of its binding. It holds nothing that changes: all deliveries share it. */
export interface RetryConfig {
  readonly mode: ResolvedBinding['retry']['mode'];
  /** Calls altogether, the first one included. */
  readonly maxAttempts: number;
  /** When a call may still begin, from the poll on. */
  readonly limitMs: number;
  readonly expectedProcessingMs: number;
  /** Limits the time from the first failed call to the next one; 0 means no limit. */
  readonly maxElapsedMs: number;
  readonly judge: ErrorJudge;
  /** Between call n and the next; `chance` is 0 <= x < 1. */
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
      maxElapsedMs: retry.tier0.maxElapsedMs,
      judge: createErrorJudge(binding, logger),
      waitAfter: (call: number, chance: number) => waitAfter(retry.tier0, call, chance),
    });
  }
}

/**
 * Half of a wait is fixed and half is chance, so that many never knock at once; without jitter all
 * of it is fixed. Chance only shortens it: the cap holds, and so does what the retry budget was
 * calculated from.
 */
function waitAfter(tier0: ResolvedTier0, call: number, chance: number): number {
  const { initialBackoffMs, multiplier, maxBackoffMs, jitter } = tier0;
  if (initialBackoffMs === 0) return 0;
  // Far out the power is Infinity, and the cap takes over.
  const full = Math.min(initialBackoffMs * multiplier ** (call - 1), maxBackoffMs);
  return jitter === 'none' ? full : full * (1 - chance / 2);
}

/** For slices: the records before the one that failed are done, and from there on they are read again. */
export function withSeekMode(config: RetryConfig): RetryConfig {
  return { ...config, mode: 'seek' };
}
