import fc from 'fast-check';
import type { OutcomeEntry } from '../ledger/ledger-entry.js';
import { OutcomeCounter } from './outcome-counts.js';
import { OutcomeDetails } from './outcome-details.js';
import { OutcomeTable, type OutcomeClass } from './outcome-table.js';

const CLASSES: readonly OutcomeClass[] = ['handled', 'discarded', 'given-up', 'dead-lettered'];

describe('OutcomeTable', () => {
  it('counts as a map of the last outcome of each letter does', () => {
    const change = fc.tuple(fc.nat(2_000), fc.constantFrom(...CLASSES, undefined));
    fc.assert(
      fc.property(fc.array(change, { maxLength: 300 }), fc.nat(2_000), (changes, end) => {
        const table = new OutcomeTable();
        const naive = new Map<number, OutcomeClass>();
        for (const [offset, outcome] of changes) {
          if (outcome === undefined) table.delete(offset);
          else table.set(offset, outcome);
          if (outcome === undefined) naive.delete(offset);
          else naive.set(offset, outcome);
        }
        for (const outcome of CLASSES)
          expect(table.count(outcome)).toBe(
            [...naive.values()].filter((each) => each === outcome).length,
          );
        expect(new Set(table.offsetsBefore(end))).toEqual(
          new Set([...naive.keys()].filter((offset) => offset < end)),
        );
      }),
    );
  });

  it('needs one byte for each of a million letters', () => {
    const table = new OutcomeTable();
    for (let offset = 0; offset < 1_000_000; offset++) table.set(offset, 'handled');
    expect(table.count('handled')).toBe(1_000_000);
    expect(table.sizeInBytes).toBeLessThan(1_001_000);
  });
});

describe('OutcomeCounter', () => {
  it('counts a record that an operator has given up as discarded, and as bad', () => {
    const counter = new OutcomeCounter();
    counter.add({ partition: 0, offset: 1 }, { result: 'discarded', reason: 'skipped' });
    counter.add({ partition: 1, offset: 1 }, { result: 'discarded', reason: 'filtered' });
    expect(counter.counts()).toEqual({ handled: 0, discarded: 2, deadLettered: 0 });
    expect(counter.quality()).toEqual({ good: 1, bad: 1 });
  });
});

describe('OutcomeDetails', () => {
  const stored = (replayId: string) => ({ replayId, outcome: {} as OutcomeEntry });

  it('knows the first letters from an offset on, in bounded memory', () => {
    const details = new OutcomeDetails(1_000, 100);
    for (let offset = 50_000; offset >= 0; offset--) details.set(offset, stored(String(offset)));
    expect(details.size).toBeLessThan(200);
    for (let offset = 1_000; offset < 1_100; offset++)
      expect(details.get(offset)?.replayId).toBe(String(offset));
    expect(details.get(999)).toBeUndefined();
  });
});
