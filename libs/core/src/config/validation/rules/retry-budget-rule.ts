import {
  RetryBudgetCalculator,
  type RetryBudget,
} from '../../resolving/retry-budget-calculator.js';
import { LONGEST_DURATION_MS } from '../../reading/duration.js';
import type { BindingRule, RuleSubject } from './binding-rule.js';

const calculator = new RetryBudgetCalculator();

/**
 * Refuses a binding whose retries, in the worst case, take 70 % of maxPollIntervalMs or more for one
 * slice. The calculation is in RetryBudgetCalculator.
 */
export const retryBudgetRule: BindingRule = {
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
};

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
