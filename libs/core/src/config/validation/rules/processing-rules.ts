import type { BindingRule } from './binding-rule.js';

export const processingRules: readonly BindingRule[] = [
  {
    rule: 'STRICT_PROCESSING',
    reads: ['orderingMode', 'processing.by'],
    check: ({ binding: { orderingMode, processing }, is }) => {
      if (orderingMode !== 'STRICT' || processing.by !== 'none') return [];
      const message = `keeps no order at all, which STRICT asks for: ${is('processing.by', 'none')}, ${is('orderingMode', orderingMode)}. Set processing.by to 'key' or 'partition', or orderingMode to 'RELAXED_IN_RETRY'.`;
      return [{ key: 'processing.by', value: processing.by, message }];
    },
  },
  {
    rule: 'STRICT_COMMITS',
    reads: ['commit', 'processing.by'],
    check: ({ binding: { commit, processing }, is }) => {
      if (!commit.strict || processing.by !== 'none') return [];
      const message = `lets nothing begin before what is done is committed, but no record waits for another one here: ${is('commit.strict', true)}, ${is('processing.by', 'none')}. Set commit.strict to false for this binding, or processing.by to 'partition' or, where it is enough that those of a key wait, 'key'.`;
      return [{ key: 'commit.strict', value: true, message }];
    },
  },
  {
    rule: 'BATCH_PROCESSING',
    reads: ['listenerType', 'processing.by'],
    check: ({ binding: { listenerType, processing }, is }) => {
      const { by } = processing;
      if (listenerType !== 'BATCH' || by === 'partition') return [];
      const message = `takes slices of a partition apart, which a BATCH listener works through as a whole: ${is('processing.by', by)}, ${is('listenerType', listenerType)}. Set processing.by to 'partition', or let the handler take single records: @EventHandler and listenerType 'SINGLE'.`;
      return [{ key: 'processing.by', value: by, message }];
    },
  },
];
