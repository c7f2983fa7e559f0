import { canaryQuotas } from './canary-quotas.js';

const partition = (id: number, selected: number) => ({
  partition: id,
  from: 0,
  to: 100,
  selected,
  ledgerEnd: 0,
});

const progress = (replayed: number, isDone = false) => ({ replayed, failed: 0, isDone });

describe('canaryQuotas', () => {
  it.each([
    ['spreads letters over the partitions', 4, [5, 5, 5], {}, { 0: 2, 1: 1, 2: 1 }],
    ['takes no more than a partition has', 6, [1, 5], {}, { 0: 1, 1: 5 }],
    ['leaves out partitions without letters', 2, [0, 5], {}, { 0: 0, 1: 2 }],
    ['ends with the letters that there are', 9, [2, 3], {}, { 0: 2, 1: 3 }],
    [
      'replaces letters that a finished partition has skipped',
      4,
      [2, 5],
      { 0: progress(0, true) },
      { 0: 0, 1: 4 },
    ],
    ['counts letters that are replayed', 4, [5, 5], { 0: progress(2) }, { 0: 2, 1: 2 }],
  ])('%s', (_, letters, selected, known, expected) => {
    const partitions = selected.map((count, id) => partition(id, count));
    const states = new Map(Object.entries(known).map(([id, each]) => [Number(id), each]));
    expect(Object.fromEntries(canaryQuotas(letters, partitions, states))).toEqual(expected);
  });
});
