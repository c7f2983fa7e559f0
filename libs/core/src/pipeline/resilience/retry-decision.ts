import type { Failure } from '../../model/outcomes/failed-outcome.js';
import type { ErrorJudgement } from './error-judge.js';
import type { RetryConfig } from './retry-config-factory.js';

/** The decision after a failed call. */
export type RetryDecision = { readonly kind: 'call-again'; readonly waitMs: number } | RetryEnd;

export interface RetryEnd {
  readonly kind: 'end';
  readonly reason: 'retry-exhausted' | 'budget-exceeded' | 'bad-message' | 'redeliver';
  readonly delayMs?: number;
}

export interface FailedCall {
  readonly judgement: ErrorJudgement;
  /** The number of the call within this delivery, from 1. */
  readonly call: number;
  /** Number of earlier deliveries of the record that failed. */
  readonly failures: number;
  /** The time since the slice began. */
  readonly elapsedMs: number;
  /** The time since the first failed call of the record in this topic. */
  readonly failingMs: number;
  /** A random number, 0 <= x < 1. */
  readonly chance: number;
}

export function decideRetry(config: RetryConfig, failed: FailedCall): RetryDecision {
  switch (failed.judgement) {
    case 'permanent':
      return { kind: 'end', reason: 'bad-message' };
    case 'refused':
    case 'not-retried':
      return { kind: 'end', reason: 'retry-exhausted' };
    case 'retryable':
      return config.mode === 'seek' ? decideSeek(config, failed) : decideInLine(config, failed);
  }
}

/**
 * Allows one call per delivery. The lane waits instead of the pipeline, so that the wait does not
 * delay other records of the slice.
 */
function decideSeek(
  config: RetryConfig,
  { failures, failingMs, chance }: FailedCall,
): RetryDecision {
  const call = failures + 1;
  if (call >= config.maxAttempts) return { kind: 'end', reason: 'retry-exhausted' };
  const delayMs = config.waitAfter(call, chance);
  return isTooLate(config, failingMs + delayMs)
    ? { kind: 'end', reason: 'retry-exhausted' }
    : { kind: 'end', reason: 'redeliver', delayMs };
}

/**
 * Allows another call while time is left: min(configured duration, maxPollIntervalMs x 0.7 -
 * elapsed). The waits together never exceed the configured duration, which is their sum, so only
 * the elapsed time decides.
 */
function decideInLine(
  config: RetryConfig,
  { call, elapsedMs, failingMs, chance }: FailedCall,
): RetryDecision {
  if (call >= config.maxAttempts) return { kind: 'end', reason: 'retry-exhausted' };
  const waitMs = config.waitAfter(call, chance);
  if (isTooLate(config, failingMs + waitMs)) return { kind: 'end', reason: 'retry-exhausted' };
  const isAffordable = elapsedMs + waitMs + config.expectedProcessingMs <= config.limitMs;
  return isAffordable ? { kind: 'call-again', waitMs } : { kind: 'end', reason: 'budget-exceeded' };
}

/** Ends the calls before `maxAttempts` if the next one would begin after `maxElapsedMs`. */
function isTooLate({ maxElapsedMs }: RetryConfig, failingMs: number): boolean {
  return maxElapsedMs > 0 && failingMs > maxElapsedMs;
}

export function failedOutcomeOf(
  error: Error,
  attempts: number,
  { reason, delayMs }: RetryEnd,
): Failure {
  const failure = { kind: 'failed', reason, error, attempts } as const;
  return delayMs === undefined ? failure : { ...failure, delayMs };
}
