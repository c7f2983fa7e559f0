import { RetryBudgetCalculator } from '../retry-budget-calculator.js';
import type { BindingRule } from './binding-rule.js';

export const idempotencyRules: readonly BindingRule[] = [
  {
    rule: 'IDEMPOTENCY_LEASE',
    reads: [
      'idempotency',
      'retry.tier0',
      'retry.mode',
      'maxPollRecords',
      'maxPollIntervalMs',
      'expectedProcessingMs',
    ],
    check: ({ binding: { idempotency, retry, ...binding }, is }) => {
      const { store, leaseMs } = idempotency;
      const { recordMs } = new RetryBudgetCalculator().calculate({ ...retry, ...binding });
      if (store === 'none' || leaseMs > recordMs) return [];
      const message = `must be longer than one record may take with all its calls and waits (${recordMs} ms), or another consumer could begin it meanwhile: ${is('idempotency.leaseMs', leaseMs)}. Raise it to more than ${recordMs}, or retry less often or with shorter waits.`;
      return [{ key: 'idempotency.leaseMs', value: leaseMs, message }];
    },
  },
];
