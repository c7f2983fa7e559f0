import { recordsBehind, writtenAt } from './partition-lag.js';

const log = { low: 100, high: 500, startsAt: 'low' } as const;

describe('recordsBehind()', () => {
  it.each([
    ['what is not committed', { ...log, committed: 450 }, 50],
    ['nothing at the end', { ...log, committed: 500 }, 0],
    ['no record that the retention has deleted', { ...log, committed: 20 }, 400],
    ['nothing of an empty log', { ...log, low: 500, committed: 20 }, 0],
    ['the whole log of a group without a commit', { ...log, committed: undefined }, 400],
    [
      'nothing if such a group begins at the end',
      { ...log, committed: undefined, startsAt: 'high' as const },
      0,
    ],
    ['the whole log if the commit is beyond its end', { ...log, committed: 9_000 }, 400],
  ])('counts %s', (_, offsets, records) => {
    expect(recordsBehind(offsets)).toBe(records);
  });
});

describe('writtenAt()', () => {
  const arrival = { earliest: 1_000, latest: 2_000, estimate: 1_600 };

  it("believes a record's timestamp within the time that the watermarks leave", () => {
    expect(writtenAt(arrival, 1_234)).toBe(1_234);
    expect(writtenAt(arrival, 3)).toBe(1_000);
    expect(writtenAt(arrival, 9_999_999)).toBe(2_000);
    expect(writtenAt({ earliest: -Infinity, latest: 2_000, estimate: undefined }, 3)).toBe(3);
    expect(writtenAt(undefined, 3)).toBe(3);
  });

  it('falls back to the interpolation', () => {
    expect(writtenAt(arrival, undefined)).toBe(1_600);
    expect(writtenAt(undefined, undefined)).toBeUndefined();
  });
});
