import { doubleClaims } from '../chaos/broker/storm/double-claims.js';
import { earlyCommits } from '../chaos/broker/storm/early-commits.js';
import { HandledCount } from '../chaos/broker/storm/handled-count.js';
import { outputFaults } from '../chaos/broker/storm/output-faults.js';
import { regressionsOf } from '../chaos/broker/storm/stored-commits.js';
import { logFaults, offsetsOf } from '../chaos/broker/storm/written-log.js';
import type { MemberEvent } from '../chaos/broker/support/member-messages.js';
import type { MemberHistory } from '../chaos/broker/support/ownership-periods.js';

const history = (name: string, ...events: MemberEvent[]): MemberHistory => ({
  name,
  events,
  endedAt: undefined,
});
const owns = (generation: number, ...partitions: number[]): MemberEvent => ({
  at: 0,
  kind: 'owns',
  generation,
  partitions,
});
const handled = (at: number, ...offsets: number[]): MemberEvent => ({
  at,
  kind: 'handled',
  records: offsets.map((offset) => ({ partition: 0, offset, number: offset })),
});
const committed = (startedAt: number, offset: number): MemberEvent => ({
  at: startedAt + 5,
  kind: 'committed',
  generation: 1,
  insideRevocation: false,
  startedAt,
  positions: [{ partition: 0, offset }],
});

describe('A storm report', () => {
  const logOf = (...numbers: number[]) => [
    numbers.map((number, offset) => ({ partition: 0, offset, number })),
  ];

  it('lists acknowledged records that are missing in the log or have another offset', () => {
    const acknowledged = [0, 1, 2].map((number) => ({ partition: 0, number, offset: number }));
    expect(logFaults(logOf(0, 1, 2), acknowledged).lost).toEqual([]);
    expect(logFaults(logOf(0, 1), acknowledged).lost).toMatchObject([{ number: 2 }]);
    expect(logFaults(logOf(0, 2), acknowledged).lost).toMatchObject([{ number: 1 }, { number: 2 }]);
  });

  it('lists inputs without exactly one output, and outputs without an input', () => {
    const noFaults = { missing: [], duplicated: [], unexpected: [] };
    expect(outputFaults(['0/1', '0/2'], ['0/2', '0/1'])).toEqual(noFaults);
    expect(outputFaults(['0/1', '0/2'], ['0/1'])).toEqual({ ...noFaults, missing: ['0/2'] });
    expect(outputFaults(['0/1'], ['0/1', '0/1'])).toEqual({ ...noFaults, duplicated: ['0/1'] });
    expect(outputFaults(['0/1'], ['0/1', '1/1'])).toEqual({ ...noFaults, unexpected: ['1/1'] });
  });

  it('does not list a record whose offset the broker did not know any more', () => {
    const acknowledged = [{ partition: 0, number: 1, offset: -1 }];
    expect(logFaults(logOf(0, 1), acknowledged).lost).toEqual([]);
  });

  it('lists records that the log contains twice or in the wrong order', () => {
    expect(logFaults(logOf(0, 1, 1, 2), [])).toMatchObject({
      duplicates: [{ offset: 2 }],
      disordered: [],
    });
    expect(logFaults(logOf(0, 2, 1, 3), [])).toMatchObject({
      duplicates: [],
      disordered: [{ offset: 2, number: 1 }],
    });
    expect(offsetsOf(logOf(0, 1, 1, 2))).toEqual([[0, 1, 3]]);
  });

  it('lists stored offsets that go backwards', () => {
    const commits = [3, 5, 5, 4, 6].map((offset) => ({ partition: 0, offset }));
    expect(regressionsOf([...commits, { partition: 1, offset: 1 }])).toEqual([
      { partition: 0, from: 5, to: 4 },
    ]);
  });

  it('lists two owners in one generation, but not in consecutive generations', () => {
    expect(
      doubleClaims([history('a', owns(1, 0, 1)), history('b', owns(2, 0), owns(1, 2))]),
    ).toEqual([]);
    expect(doubleClaims([history('a', owns(1, 0)), history('b', owns(1, 0))])).toEqual([
      { generation: 1, partition: 0, members: ['a', 'b'] },
    ]);
  });

  it('lists commits beyond a record that no member had handled at that time', () => {
    const written = [[0, 1, 2]];
    const early = [history('a', handled(1, 0), committed(5, 2)), history('b', handled(9, 1))];
    expect(earlyCommits(early, written)).toEqual([{ partition: 0, offset: 2, unhandled: 1 }]);
    const elsewhere = [history('a', handled(1, 0), committed(5, 2)), history('b', handled(4, 1))];
    expect(earlyCommits(elsewhere, written)).toEqual([]);
  });

  it('counts each handled record once, even if it is counted several times', () => {
    const handledCount = new HandledCount();
    const events = [handled(1, 0, 1)];
    expect(handledCount.countOf([history('a', ...events)])).toBe(2);
    expect(handledCount.countOf([history('a', ...events, handled(2, 1, 2)), history('b')])).toBe(3);
  });
});
