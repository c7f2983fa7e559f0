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
    rule: 'BATCH_PROCESSING',
    reads: ['listenerType', 'processing.by'],
    check: ({ binding: { listenerType, processing }, is }) => {
      const { by } = processing;
      if (listenerType !== 'BATCH' || by === 'partition') return [];
      const message = `takes slices of a partition apart, which a BATCH listener works through as a whole: ${is('processing.by', by)}, ${is('listenerType', listenerType)}. Set processing.by to 'partition' or listenerType to 'SINGLE'.`;
      return [{ key: 'processing.by', value: by, message }];
    },
  },
];
