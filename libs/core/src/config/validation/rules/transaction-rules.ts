import type { BindingRule } from './binding-rule.js';

export const transactionRules: readonly BindingRule[] = [
  {
    rule: 'TRANSACTION_PROCESSING',
    reads: ['transactions', 'processing.by'],
    check: ({ binding: { transactions, processing }, is }) => {
      const { by } = processing;
      if (!transactions.enabled || by === 'partition') return [];
      const message = `lets records overtake each other, but the offset that a transaction commits means that all records before it are done: ${is('processing.by', by)}, ${is('transactions.enabled', true)}. Set processing.by to 'partition', or do without transactions.`;
      return [{ key: 'processing.by', value: by, message }];
    },
  },
  {
    rule: 'TRANSACTION_ACK',
    reads: ['transactions', 'ack'],
    check: ({ binding: { transactions, ack }, is }) => {
      if (!transactions.enabled || ack !== 'manual') return [];
      const message = `leaves it to the handler when its record is done, but a transaction decides that when it is committed: ${is('ack', ack)}, ${is('transactions.enabled', true)}. Set ack to 'auto', or do without transactions.`;
      return [{ key: 'ack', value: ack, message }];
    },
  },
];
