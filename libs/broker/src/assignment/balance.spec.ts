import { balance } from './balance.js';
import { PreviousOwners } from './previous-owners.js';
import type { Seat } from './member-load.js';
import { seatingOf, type Seating } from './initial-loads.js';

const nobody = new PreviousOwners();
const loads = (seats: readonly Seat[]): number[] => seats.map(({ load }) => load);

/** Each member shares one topic with the member before and one with the member after. */
function chain(length: number, partitionsPerTopic: number): Seating {
  const members = Array.from({ length }, (_, index) => ({
    memberId: `m${index}`,
    topics: [`t${index}`, `t${index + 1}`],
  }));
  const topics = new Set(members.flatMap((member) => member.topics));
  return seatingOf(
    members,
    new Map([...topics].map((topic) => [topic, partitionsPerTopic])),
    nobody,
  );
}

describe('balancing', () => {
  it('leaves alone what is even', () => {
    const { seats, slots } = chain(5, 1);
    for (const slot of slots) [...slot.pool.seats].at(-1)?.take(slot);
    expect(balance(seats)).toBe(0);
    expect(loads(seats)).toEqual([1, 1, 1, 1, 2]);
  });

  it('ends in the fewest moves where everything must pass through a long chain', () => {
    const length = 100;
    const { seats, slots } = chain(length, length);
    for (const slot of slots) [...slot.pool.seats][0]?.take(slot);
    expect(loads(seats).slice(0, 3)).toEqual([200, 100, 100]);

    const moves = balance(seats);
    expect(new Set(loads(seats))).toEqual(new Set([101]));
    expect(moves).toBe((length * (length - 1)) / 2);
  });

  it('brings a partition home rather than another', () => {
    const owners = new PreviousOwners();
    for (const partition of [1, 2]) owners.claim('b', 1, { topic: 't', partition });
    const members = [
      { memberId: 'a', topics: ['t'] },
      { memberId: 'b', topics: ['t'] },
    ];
    const { seats, slots } = seatingOf(members, new Map([['t', 4]]), owners);
    for (const slot of slots) seats[0]?.take(slot);
    balance(seats);
    expect(seats[1]?.share().map(({ partition }) => partition)).toEqual([1, 2]);
  });

  it('passes on what had no owner rather than what the giver had before', () => {
    const owners = new PreviousOwners();
    for (const partition of [1, 3]) owners.claim('a', 1, { topic: 't', partition });
    const members = [
      { memberId: 'a', topics: ['t'] },
      { memberId: 'b', topics: ['t'] },
    ];
    const { seats, slots } = seatingOf(members, new Map([['t', 4]]), owners);
    for (const slot of slots) seats[0]?.take(slot);
    balance(seats);
    expect(seats[0]?.share().map(({ partition }) => partition)).toEqual([1, 3]);
  });
});
