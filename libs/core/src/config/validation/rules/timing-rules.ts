import {
  RetryBudgetCalculator,
  type RetryBudget,
} from '../../resolving/retry-budget-calculator.js';
import { LONGEST_DURATION_MS } from '../../reading/duration.js';
import type { BindingRule, RuleSubject } from './binding-rule.js';

const calculator = new RetryBudgetCalculator();

export const timingRules: readonly BindingRule[] = [
  {
    rule: 'SESSION_TIMEOUT',
    reads: ['sessionTimeoutMs', 'heartbeatIntervalMs'],
    check: ({ binding: { sessionTimeoutMs, heartbeatIntervalMs }, is }) => {
      if (sessionTimeoutMs >= 3 * heartbeatIntervalMs) return [];
      const third = Math.floor(sessionTimeoutMs / 3);
      const message = `must be at least three times heartbeatIntervalMs, so that two lost heartbeats do not end the membership: ${is('sessionTimeoutMs', sessionTimeoutMs)}, ${is('heartbeatIntervalMs', heartbeatIntervalMs)}. Raise the first to ${3 * heartbeatIntervalMs}${third > 0 ? ` or lower the second to ${third}` : ''}.`;
      return [{ key: 'sessionTimeoutMs', value: sessionTimeoutMs, message }];
    },
  },
  {
    rule: 'BACKOFF_CAP',
    reads: ['retry.tier0'],
    check: ({ binding, is }) => {
      const { initialBackoffMs, maxBackoffMs } = binding.retry.tier0;
      if (initialBackoffMs <= maxBackoffMs) return [];
      const message = `is shorter than the first wait, which it would cut: ${is('retry.tier0.maxBackoffMs', maxBackoffMs)}, ${is('retry.tier0.initialBackoffMs', initialBackoffMs)}. Raise maxBackoffMs to ${initialBackoffMs} or more.`;
      return [{ key: 'retry.tier0.maxBackoffMs', value: maxBackoffMs, message }];
    },
  },
  {
    rule: 'RETRY_BUDGET',
    reads: [
      'retry.tier0',
      'retry.mode',
      'listenerType',
      'maxPollRecords',
      'maxPollIntervalMs',
      'expectedProcessingMs',
    ],
    check: (subject) => {
      const budget = calculator.calculateAll(subject.binding).find(({ fits }) => !fits);
      if (!budget) return [];
      const { maxPollRecords } = subject.binding;
      return [
        { key: 'maxPollRecords', value: maxPollRecords, message: budgetMessage(subject, budget) },
      ];
    },
  },
  {
    rule: 'PUBLISH_TIMEOUT',
    reads: ['dlt.publishTimeoutMs', 'maxPollIntervalMs'],
    check: ({ binding: { dlt, maxPollIntervalMs }, is }) => {
      const { publishTimeoutMs } = dlt;
      if (publishTimeoutMs < maxPollIntervalMs) return [];
      const message = `must be less than maxPollIntervalMs, or a topic that cannot be written to would be taken for a handler that hangs: ${is('dlt.publishTimeoutMs', publishTimeoutMs)}, ${is('maxPollIntervalMs', maxPollIntervalMs)}. Lower the first or raise the second.`;
      return [{ key: 'dlt.publishTimeoutMs', value: publishTimeoutMs, message }];
    },
  },
  {
    rule: 'BREAKER_WINDOW',
    reads: ['circuitBreaker'],
    check: ({ binding: { circuitBreaker }, is }) => {
      const { minimumNumberOfCalls, slidingWindowSize } = circuitBreaker;
      if (minimumNumberOfCalls <= slidingWindowSize) return [];
      const message = `is more than the window holds, so that the circuit could never open: ${is('circuitBreaker.minimumNumberOfCalls', minimumNumberOfCalls)}, ${is('circuitBreaker.slidingWindowSize', slidingWindowSize)}. Lower the first or raise the second.`;
      return [{ key: 'circuitBreaker.minimumNumberOfCalls', value: minimumNumberOfCalls, message }];
    },
  },
  {
    rule: 'BREAKER_PAUSE',
    reads: ['circuitBreaker'],
    check: ({ binding: { circuitBreaker }, canPause }) => {
      const { enabled, automaticPauseOnOpen } = circuitBreaker;
      if (!enabled || !automaticPauseOnOpen || canPause) return [];
      const message =
        'needs a LifecycleManager to pause the binding with, and there is none. Provide one, or set automaticPauseOnOpen to false.';
      return [{ key: 'circuitBreaker.automaticPauseOnOpen', value: true, message }];
    },
  },
];

function budgetMessage({ binding, is }: RuleSubject, budget: RetryBudget): string {
  const { maxPollRecords, maxPollIntervalMs, retry } = binding;
  const { sliceMs, limitMs, recordMs } = budget;
  const longest = calculator.longestWaitMs(retry.tier0);
  const sum =
    retry.mode === 'seek'
      ? `${recordMs} ms x ${maxPollRecords} records + the longest wait of ${longest} ms`
      : `${recordMs} ms x ${maxPollRecords} records`;
  return [
    `at worst one slice takes ${sum} = ${sliceMs} ms, which must be less than 70 % of maxPollIntervalMs (${limitMs} ms): ${is('maxPollRecords', maxPollRecords)}, ${is('maxPollIntervalMs', maxPollIntervalMs)}, ${is('retry.mode', retry.mode)}.`,
    `${remedies(binding, budget).join(', or ')}.`,
  ].join(' ');
}

function remedies(
  { retry, maxPollRecords, maxPollIntervalMs, expectedProcessingMs }: RuleSubject['binding'],
  { largestMaxPollRecords, sliceMs }: RetryBudget,
): readonly string[] {
  const interval = Math.floor((sliceMs * 10) / 7) + 1;
  const bySeeking = calculator.calculate({
    ...retry,
    mode: 'seek',
    maxPollRecords,
    maxPollIntervalMs,
    expectedProcessingMs,
  });
  return [
    ...(largestMaxPollRecords > 0 ? [`Lower maxPollRecords to ${largestMaxPollRecords}`] : []),
    ...(interval <= LONGEST_DURATION_MS ? [`raise maxPollIntervalMs to ${interval}`] : []),
    ...(retry.mode === 'in-line' && bySeeking.fits ? [`set retry.mode to 'seek'`] : []),
    'retry less often or with shorter waits',
  ].map((remedy, index) =>
    index === 0 ? `${remedy[0]?.toUpperCase()}${remedy.slice(1)}` : remedy,
  );
}
