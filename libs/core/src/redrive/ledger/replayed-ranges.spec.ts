import { encodeEntry, ledgerKeys, decodeEntry, type LedgerEntry } from './ledger-entry.js';
import { PartitionStates } from './partition-states.js';
import { rangesOf } from './replayed-ranges.js';

const TOPIC = 'topic-id';
const AT = { at: 1, by: 'ann' };

const replayed = (...offsets: readonly number[]): readonly [string, LedgerEntry] => [
  ledgerKeys.replayed(TOPIC, 0, offsets[0]!),
  { kind: 'replayed', ranges: rangesOf(offsets), ...AT, operation: 'op', to: 'orders' },
];

const single = (offset: number, status: 'open' | 'replayed'): readonly [string, LedgerEntry] => [
  ledgerKeys.letter(TOPIC, 0, offset),
  { kind: 'letter', status, ...AT, times: 1 },
];

function statesAfter(...entries: readonly (readonly [string, LedgerEntry | null])[]) {
  const states = new PartitionStates({ topicId: TOPIC, partition: 0 });
  entries.forEach(([key, entry], offset) =>
    states.apply({ key, entry: entry ?? undefined, offset }),
  );
  return states;
}

const statuses = (states: PartitionStates, letters: number) =>
  Array.from({ length: letters }, (_, offset) => states.statusOf(offset));

describe('Ranges of replayed letters', () => {
  it('are pairs of an offset and a number', () => {
    expect(rangesOf([3, 4, 5, 9, 11, 12])).toEqual([
      [3, 3],
      [9, 1],
      [11, 2],
    ]);
    expect(rangesOf([])).toEqual([]);
  });

  it('say of each letter whether it was replayed, also if they are written in another order', () => {
    const states = statesAfter(replayed(6, 7), replayed(1, 2, 4));
    expect(statuses(states, 9)).toEqual(
      [0, 1, 1, 0, 1, 0, 1, 1, 0].map((is) => (is ? 'replayed' : 'open')),
    );
    expect(states.letter(4)).toMatchObject({ replayId: 'op/0/4', times: 1, ledgerOffset: 1 });
    expect(states.letter(5)).toBeUndefined();
  });

  it('are replaced by a later entry about one of their letters', () => {
    const states = statesAfter(replayed(0, 1), single(1, 'open'));
    expect(statuses(states, 2)).toEqual(['replayed', 'open']);
  });

  it('are forgotten when all letters of their entry are deleted', () => {
    const states = statesAfter(replayed(0, 1), replayed(2, 3), single(1, 'open'));
    expect(states.keysBefore(3)).toEqual([
      ledgerKeys.letter(TOPIC, 0, 1),
      ledgerKeys.replayed(TOPIC, 0, 0),
    ]);
  });
});

describe('Entries of the ledger', () => {
  it('of an earlier version, with one entry for each letter, are still read', () => {
    const [key, entry] = single(0, 'replayed');
    const older = Buffer.from(encodeEntry(entry).replace(/"version":\d+/, '"version":1'));
    const states = statesAfter([key, decodeEntry(older) ?? null]);
    expect(states.statusOf(0)).toBe('replayed');
  });

  it('of a later version are refused instead of misread', () => {
    const [, entry] = single(0, 'replayed');
    const later = Buffer.from(encodeEntry(entry).replace(/"version":\d+/, '"version":99'));
    expect(() => decodeEntry(later)).toThrow('Upgrade this application');
  });
});
