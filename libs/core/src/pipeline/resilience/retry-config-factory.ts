import type { DriverLogger } from '@nest-event-bus/broker';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { budgetLimitMs } from '../../config/resolving/retry-budget-calculator.js';
import { BatchFailureStrategy } from '../../model/outcomes/batch-failure-strategy.js';
import { ListenerType } from '../../model/states/listener-type.js';
import { createErrorJudge, type ErrorJudge } from './error-judge.js';
import { waitAfter } from './retry-wait.js';

/** The retry settings of a binding. All deliveries share them, because they never change. */
export interface RetryConfig {
  readonly mode: ResolvedBinding['retry']['mode'];
  /** The maximum number of calls, including the first one. */
  readonly maxAttempts: number;
  /** The time after the start of the slice up to which a call may begin. */
  readonly limitMs: number;
  readonly expectedProcessingMs: number;
  /** Limits the time from the first failed call to the next one; 0 means no limit. */
  readonly maxElapsedMs: number;
  readonly judge: ErrorJudge;
  /** Returns the wait after call number `call`. `chance` is a random number, 0 <= x < 1. */
  waitAfter(call: number, chance: number): number;
}

export type RetrySource = Pick<
  ResolvedBinding,
  | 'name'
  | 'retry'
  | 'dlt'
  | 'maxPollIntervalMs'
  | 'expectedProcessingMs'
  | 'listenerType'
  | 'batchFailureStrategy'
>;

export class RetryConfigFactory {
  create(binding: RetrySource, logger: DriverLogger): RetryConfig {
    const { retry, maxPollIntervalMs, expectedProcessingMs } = binding;
    return Object.freeze({
      // The records of a slice that are done are committed before a wait.
      mode: binding.listenerType === ListenerType.BATCH ? 'seek' : retry.mode,
      maxAttempts: deadLettersAtOnce(binding) ? 1 : retry.tier0.maxAttempts,
      limitMs: budgetLimitMs(maxPollIntervalMs),
      expectedProcessingMs,
      maxElapsedMs: retry.tier0.maxElapsedMs,
      judge: createErrorJudge(binding, logger),
      waitAfter: (call: number, chance: number) => waitAfter(retry.tier0, call, chance),
    });
  }
}

/** With DLQ_AND_CONTINUE, further calls for a failed record must not delay the records after it. */
function deadLettersAtOnce({ listenerType, batchFailureStrategy }: RetrySource): boolean {
  return (
    listenerType === ListenerType.BATCH &&
    batchFailureStrategy === BatchFailureStrategy.DLQ_AND_CONTINUE
  );
}

/**
 * Returns the configuration for slices. The records before the failed one are done, and the
 * partition is read again from the failed one on.
 */
export function withSeekMode(config: RetryConfig): RetryConfig {
  return { ...config, mode: 'seek' };
}
