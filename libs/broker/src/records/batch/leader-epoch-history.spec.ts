import fc from 'fast-check';
import type { BrokerRecord } from '../../port/record.js';
import { LeaderEpochHistory } from './leader-epoch-history.js';

const recordOf = (offset: number, leaderEpoch: number): BrokerRecord =>
  ({ offset, leaderEpoch }) as BrokerRecord;

/**
 * A model of a log: one record per entry, at its index; the entry is the epoch of the leader that
 * wrote it.
 */
type Log = readonly number[];

function trailThrough(log: Log, polls: readonly number[] = [log.length]): LeaderEpochHistory {
  const trail = new LeaderEpochHistory();
  let at = 0;
  for (const size of [...polls, log.length]) {
    const end = Math.min(at + size, log.length);
    const records = log.slice(at, end).map((epoch, index) => recordOf(at + index, epoch));
    trail.append(at, records, records.at(-1)?.leaderEpoch ?? trail.last);
    at = end;
  }
  return trail;
}

/**
 * Answers OffsetForLeaderEpoch as a leader does: the largest epoch up to the requested one, and its
 * end offset.
 */
function endOf(log: Log, epoch: number): { readonly epoch: number; readonly end: number } {
  const last = log.findLastIndex((each) => each <= epoch);
  return last < 0 ? { epoch, end: 0 } : { epoch: log[last] as number, end: last + 1 };
}

function commonPrefix(one: Log, other: Log): number {
  const divergence = one.findIndex((epoch, index) => other[index] !== epoch);
  return divergence < 0 ? one.length : divergence;
}

describe('LeaderEpochHistory', () => {
  it('returns the epoch before any offset that was read', () => {
    const trail = trailThrough([3, 3, 5]);
    expect([0, 1, 2, 3].map((offset) => trail.epochBefore(offset))).toEqual([-1, 3, 3, 5]);
  });

  it('returns the epoch before the position', () => {
    const trail = new LeaderEpochHistory();
    expect(trail.last).toBe(-1);
    trail.startAt(7, 3);
    expect(trail.last).toBe(3);
    trail.append(7, [recordOf(7, 3), recordOf(9, 5)], 5);
    expect(trail.last).toBe(5);
    trail.truncateTo(7);
    expect(trail.last).toBe(3);
    trail.truncateTo(6);
    expect(trail.last).toBe(-1);
  });

  it('includes a batch that contains only a marker', () => {
    const trail = trailThrough([1, 1]);
    trail.append(2, [], 4);
    expect(trail.last).toBe(4);
    expect(trail.commonEnd(1, 9)).toBe(2);
  });

  it('does not report truncation for a log end at which two leaders wrote nothing', () => {
    const trail = new LeaderEpochHistory();
    // ListOffsets returned the epoch of a leader that has written nothing.
    trail.startAt(10, 1);
    expect(trail.commonEnd(0, 10)).toBe(10);
  });

  it('records no entry for an unknown leader epoch', () => {
    expect(trailThrough([1, 1, 3]).commonEnd(1, 8)).toBe(2);
  });

  it('drops the oldest entries only when the history is very long', () => {
    const log = Array.from({ length: 1_000 }, (_, epoch) => epoch);
    expect(trailThrough(log).commonEnd(998, 2_000)).toBe(999);
  });

  it('finds the offset at which any two logs diverge, whichever leaders wrote them', () => {
    const prefix = fc.array(fc.nat(2), { maxLength: 6 });
    const tail = fc.array(fc.nat(3), { maxLength: 6 });
    const rising = (epochs: readonly number[]): Log => epochs.toSorted((a, b) => a - b);
    fc.assert(
      fc.property(
        prefix,
        tail,
        tail,
        fc.array(fc.nat(4)),
        (shared, readTail, leaderTail, polls) => {
          // Each epoch has one leader, so every part that is not shared has epochs that only one log
          // contains.
          const base = rising(shared);
          const from = base.at(-1) ?? 0;
          const read = [...base, ...rising(readTail.map((epoch) => from + 1 + 2 * epoch))];
          const led = [...base, ...rising(leaderTail.map((epoch) => from + 2 + 2 * epoch))];
          if (read.length === 0) return;
          const trail = trailThrough(read, polls);
          let answer = endOf(led, trail.last);
          for (let shared = -1; (shared = trail.lastUpTo(answer.epoch)) >= 0;) {
            if (shared === answer.epoch) break;
            answer = endOf(led, shared);
          }
          const agreed = trail.commonEnd(answer.epoch, answer.end);
          expect(Math.min(agreed, read.length)).toBe(commonPrefix(read, led));
        },
      ),
    );
  });
});
