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
      const message = `lets no record start before the completed ones are committed, but records do not wait for each other here: ${is('commit.strict', true)}, ${is('processing.by', 'none')}. Set commit.strict to false for this binding, or processing.by to 'partition' or, if only records with the same key have to wait, to 'key'.`;
      return [{ key: 'commit.strict', value: true, message }];
    },
  },
  {
    rule: 'BATCH_PROCESSING',
    reads: ['listenerType', 'processing.by'],
    check: ({ binding: { listenerType, processing }, is }) => {
      const { by } = processing;
      if (listenerType !== 'BATCH' || by === 'partition') return [];
      const message = `splits the slices of a partition, which a BATCH listener handles as a whole: ${is('processing.by', by)}, ${is('listenerType', listenerType)}. Set processing.by to 'partition', or let the handler take single records: @EventHandler and listenerType 'SINGLE'.`;
      return [{ key: 'processing.by', value: by, message }];
    },
  },
];
