import type { ResolvedBinding } from '../../resolving/resolved-binding.js';
import { RetryBudgetCalculator } from '../../resolving/retry-budget-calculator.js';
import type { BindingRule } from './binding-rule.js';

export const idempotencyRules: readonly BindingRule[] = [
  {
    rule: 'IDEMPOTENCY_LEASE',
    reads: [
      'idempotency',
      'retry.tier0',
      'retry.mode',
      'listenerType',
      'maxPollRecords',
      'maxPollIntervalMs',
      'expectedProcessingMs',
    ],
    check: ({ binding, is }) => {
      const { store, leaseMs } = binding.idempotency;
      if (store === 'none') return [];
      const { what, takesMs, remedy } = longestClaim(binding);
      if (leaseMs > takesMs) return [];
      const message = `must be longer than ${what} (${takesMs} ms), or another consumer could begin it meanwhile: ${is('idempotency.leaseMs', leaseMs)}. Raise it to more than ${takesMs}, or ${remedy}.`;
      return [{ key: 'idempotency.leaseMs', value: leaseMs, message }];
    },
  },
];

/**
 * Returns how long a claim must last: for one record, or for a whole slice, since a batch handler
 * claims all its records before the call.
 */
function longestClaim({ retry, ...binding }: ResolvedBinding) {
  const isBatch = binding.listenerType === 'BATCH';
  const mode = isBatch ? 'seek' : retry.mode;
  const { recordMs } = new RetryBudgetCalculator().calculate({ ...retry, ...binding, mode });
  const { maxPollRecords } = binding;
  if (!isBatch)
    return {
      what: 'one record may take with all its calls and waits',
      takesMs: recordMs,
      remedy: 'retry less often or with shorter waits',
    };
  return {
    what: `a slice of ${maxPollRecords} records may take, since all of them are claimed before the handler is called`,
    takesMs: recordMs * maxPollRecords,
    remedy: 'lower maxPollRecords',
  };
}
