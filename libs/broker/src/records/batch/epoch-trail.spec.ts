import fc from 'fast-check';
import type { BrokerRecord } from '../../port/record.js';
import { EpochTrail } from './epoch-trail.js';

const recordOf = (offset: number, leaderEpoch: number): BrokerRecord =>
  ({ offset, leaderEpoch }) as BrokerRecord;

/** One record per entry, at its index; each written by the leader of that epoch. */
type Log = readonly number[];

function trailThrough(log: Log, polls: readonly number[] = [log.length]): EpochTrail {
  const trail = new EpochTrail();
  let at = 0;
  for (const size of [...polls, log.length]) {
    const end = Math.min(at + size, log.length);
    const records = log.slice(at, end).map((epoch, index) => recordOf(at + index, epoch));
    trail.follow(at, records, records.at(-1)?.leaderEpoch ?? trail.last);
    at = end;
  }
  return trail;
}

/** As a leader answers OffsetForLeaderEpoch: the largest epoch it has up to that one, and where it ends. */
function endOf(log: Log, epoch: number): { readonly epoch: number; readonly end: number } {
  const last = log.findLastIndex((each) => each <= epoch);
  return last < 0 ? { epoch, end: 0 } : { epoch: log[last] as number, end: last + 1 };
}

function commonPrefix(one: Log, other: Log): number {
  const parting = one.findIndex((epoch, index) => other[index] !== epoch);
  return parting < 0 ? one.length : parting;
}

describe('the trail of leader epochs', () => {
  it('knows who wrote what stands before any place that was read', () => {
    const trail = trailThrough([3, 3, 5]);
    expect([0, 1, 2, 3].map((offset) => trail.before(offset))).toEqual([-1, 3, 3, 5]);
  });

  it('knows who wrote what stands before the position', () => {
    const trail = new EpochTrail();
    expect(trail.last).toBe(-1);
    trail.begin(7, 3);
    expect(trail.last).toBe(3);
    trail.follow(7, [recordOf(7, 3), recordOf(9, 5)], 5);
    expect(trail.last).toBe(5);
    trail.cutTo(7);
    expect(trail.last).toBe(3);
    trail.cutTo(6);
    expect(trail.last).toBe(-1);
  });

  it('counts a batch that holds nothing but a marker', () => {
    const trail = trailThrough([1, 1]);
    trail.follow(2, [], 4);
    expect(trail.last).toBe(4);
    expect(trail.agreedEnd(1, 9)).toBe(2);
  });

  it('does not take the end of a log that nobody wrote to under two leaders for a cut one', () => {
    const trail = new EpochTrail();
    // ListOffsets told the epoch of the leader, which has written nothing.
    trail.begin(10, 1);
    expect(trail.agreedEnd(0, 10)).toBe(10);
  });

  it('takes what an unknown leader wrote for no log of its own', () => {
    expect(trailThrough([1, 1, 3]).agreedEnd(1, 8)).toBe(2);
  });

  it('forgets the oldest steps of a very long history only', () => {
    const log = Array.from({ length: 1_000 }, (_, epoch) => epoch);
    expect(trailThrough(log).agreedEnd(998, 2_000)).toBe(999);
  });

  it('finds where any two logs part, whichever leaders wrote them', () => {
    const prefix = fc.array(fc.nat(2), { maxLength: 6 });
    const tail = fc.array(fc.nat(3), { maxLength: 6 });
    const rising = (epochs: readonly number[]): Log => epochs.toSorted((a, b) => a - b);
    fc.assert(
      fc.property(prefix, tail, tail, fc.array(fc.nat(4)), (shared, ours, theirs, polls) => {
        // Each epoch has one leader, so whatever was not shared has epochs that only one of both knows.
        const base = rising(shared);
        const from = base.at(-1) ?? 0;
        const read = [...base, ...rising(ours.map((epoch) => from + 1 + 2 * epoch))];
        const led = [...base, ...rising(theirs.map((epoch) => from + 2 + 2 * epoch))];
        if (read.length === 0) return;
        const trail = trailThrough(read, polls);
        let answer = endOf(led, trail.last);
        for (let shared = -1; (shared = trail.lastUpTo(answer.epoch)) >= 0;) {
          if (shared === answer.epoch) break;
          answer = endOf(led, shared);
        }
        const agreed = trail.agreedEnd(answer.epoch, answer.end);
        expect(Math.min(agreed, read.length)).toBe(commonPrefix(read, led));
      }),
    );
  });
});
