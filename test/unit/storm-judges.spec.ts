import { doubleClaims } from '../chaos/broker/storm/double-claims.js';
import { earlyCommits } from '../chaos/broker/storm/early-commits.js';
import { HandledTally } from '../chaos/broker/storm/handled-tally.js';
import { outputFaults } from '../chaos/broker/storm/output-faults.js';
import { regressionsOf } from '../chaos/broker/storm/stored-commits.js';
import { logFaults, offsetsOf } from '../chaos/broker/storm/written-log.js';
import type { MemberEvent } from '../chaos/broker/support/member-messages.js';
import type { MemberStory } from '../chaos/broker/support/tenures.js';

const story = (name: string, ...events: MemberEvent[]): MemberStory => ({
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

describe('what a storm would notice', () => {
  const standing = (...numbers: number[]) => [
    numbers.map((number, offset) => ({ partition: 0, offset, number })),
  ];

  it('a record that was acknowledged and is not in the log, or stands elsewhere', () => {
    const acknowledged = [0, 1, 2].map((number) => ({ partition: 0, number, offset: number }));
    expect(logFaults(standing(0, 1, 2), acknowledged).lost).toEqual([]);
    expect(logFaults(standing(0, 1), acknowledged).lost).toMatchObject([{ number: 2 }]);
    expect(logFaults(standing(0, 2), acknowledged).lost).toMatchObject([
      { number: 1 },
      { number: 2 },
    ]);
  });

  it('an input without an output or with two, and an output of no input', () => {
    const none = { without: [], doubled: [], foreign: [] };
    expect(outputFaults(['0/1', '0/2'], ['0/2', '0/1'])).toEqual(none);
    expect(outputFaults(['0/1', '0/2'], ['0/1'])).toEqual({ ...none, without: ['0/2'] });
    expect(outputFaults(['0/1'], ['0/1', '0/1'])).toEqual({ ...none, doubled: ['0/1'] });
    expect(outputFaults(['0/1'], ['0/1', '1/1'])).toEqual({ ...none, foreign: ['1/1'] });
  });

  it('an offset that the broker did not know any more is no loss', () => {
    const acknowledged = [{ partition: 0, number: 1, offset: -1 }];
    expect(logFaults(standing(0, 1), acknowledged).lost).toEqual([]);
  });

  it('a record that stands in the log twice, and one that a later call has overtaken', () => {
    expect(logFaults(standing(0, 1, 1, 2), [])).toMatchObject({
      duplicates: [{ offset: 2 }],
      disordered: [],
    });
    expect(logFaults(standing(0, 2, 1, 3), [])).toMatchObject({
      duplicates: [],
      disordered: [{ offset: 2, number: 1 }],
    });
    expect(offsetsOf(standing(0, 1, 1, 2))).toEqual([[0, 1, 3]]);
  });

  it('a stored offset below one that was stored before', () => {
    const commits = [3, 5, 5, 4, 6].map((offset) => ({ partition: 0, offset }));
    expect(regressionsOf([...commits, { partition: 1, offset: 1 }])).toEqual([
      { partition: 0, from: 5, to: 4 },
    ]);
  });

  it('two owners in one generation, not one after the other', () => {
    expect(doubleClaims([story('a', owns(1, 0, 1)), story('b', owns(2, 0), owns(1, 2))])).toEqual(
      [],
    );
    expect(doubleClaims([story('a', owns(1, 0)), story('b', owns(1, 0))])).toEqual([
      { generation: 1, partition: 0, members: ['a', 'b'] },
    ]);
  });

  it('a commit that passes over a record which nobody had handled by then', () => {
    const written = [[0, 1, 2]];
    const early = [story('a', handled(1, 0), committed(5, 2)), story('b', handled(9, 1))];
    expect(earlyCommits(early, written)).toEqual([{ partition: 0, offset: 2, unhandled: 1 }]);
    const elsewhere = [story('a', handled(1, 0), committed(5, 2)), story('b', handled(4, 1))];
    expect(earlyCommits(elsewhere, written)).toEqual([]);
  });

  it('counts each handled record once, also over several looks', () => {
    const tally = new HandledTally();
    const events = [handled(1, 0, 1)];
    expect(tally.countOf([story('a', ...events)])).toBe(2);
    expect(tally.countOf([story('a', ...events, handled(2, 1, 2)), story('b')])).toBe(3);
  });
});
