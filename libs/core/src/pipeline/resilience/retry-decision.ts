import type { FailedOutcome, FailureEnding } from '../../model/outcomes/outcome.js';
import type { ErrorJudgement } from './error-judge.js';
import type { RetryConfig } from './retry-config-factory.js';

/** After a call that failed. */
export type RetryDecision = { readonly kind: 'call-again'; readonly waitMs: number } | RetryEnd;

export interface RetryEnd {
  readonly kind: 'end';
  readonly ending: FailureEnding;
  readonly delayMs?: number;
}

export interface FailedCall {
  readonly judgement: ErrorJudgement;
  /** Within this delivery, from 1. */
  readonly call: number;
  /** Deliveries of the record that failed before. */
  readonly failures: number;
  /** Since the slice came out of its poll. */
  readonly elapsedMs: number;
  /** Since the first call of the record failed in this topic. */
  readonly failingMs: number;
  /** 0 <= x < 1 */
  readonly chance: number;
}

export function decideRetry(config: RetryConfig, failed: FailedCall): RetryDecision {
  switch (failed.judgement) {
    case 'permanent':
      return { kind: 'end', ending: 'permanent' };
    case 'refused':
    case 'not-retried':
      return { kind: 'end', ending: 'not-retried' };
    case 'retryable':
      return config.mode === 'seek' ? decideSeek(config, failed) : decideInLine(config, failed);
  }
}

/** One call for each delivery; intake makes the wait, and others of the partition are not held up by a sleep. */
function decideSeek(
  config: RetryConfig,
  { failures, failingMs, chance }: FailedCall,
): RetryDecision {
  const call = failures + 1;
  if (call >= config.maxAttempts) return { kind: 'end', ending: 'exhausted' };
  const delayMs = config.waitAfter(call, chance);
  return isTooLate(config, failingMs + delayMs)
    ? { kind: 'end', ending: 'exhausted' }
    : { kind: 'end', ending: 'delivered-again', delayMs };
}

/**
 * The budget is min(configured duration, maxPollIntervalMs x 0.7 - elapsed). The configured
 * duration is the sum of the waits, which they cannot exceed, so the clock decides alone.
 */
function decideInLine(
  config: RetryConfig,
  { call, elapsedMs, failingMs, chance }: FailedCall,
): RetryDecision {
  if (call >= config.maxAttempts) return { kind: 'end', ending: 'exhausted' };
  const waitMs = config.waitAfter(call, chance);
  if (isTooLate(config, failingMs + waitMs)) return { kind: 'end', ending: 'exhausted' };
  const isAffordable = elapsedMs + waitMs + config.expectedProcessingMs <= config.limitMs;
  return isAffordable ? { kind: 'call-again', waitMs } : { kind: 'end', ending: 'over-budget' };
}

/** A call that would begin after `maxElapsedMs` is not made: the calls are used up, however many are left. */
const isTooLate = ({ maxElapsedMs }: RetryConfig, failingMs: number): boolean =>
  maxElapsedMs > 0 && failingMs > maxElapsedMs;

export function failedOutcomeOf(
  error: Error,
  attempts: number,
  { ending, delayMs }: RetryEnd,
): FailedOutcome {
  const failure = { kind: 'failed', error, attempts, ending } as const;
  return delayMs === undefined ? failure : { ...failure, delayMs };
}
