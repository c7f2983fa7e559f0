import { balance } from './balance.js';
import { PreviousOwners } from './previous-owners.js';
import type { MemberLoad } from './member-load.js';
import { createInitialLoads, type InitialLoads } from './initial-loads.js';

const noOwners = new PreviousOwners();
const loads = (members: readonly MemberLoad[]): number[] => members.map(({ load }) => load);

/** Creates members that share one topic with the previous member and one with the next. */
function chain(length: number, partitionsPerTopic: number): InitialLoads {
  const members = Array.from({ length }, (_, index) => ({
    memberId: `m${index}`,
    topics: [`t${index}`, `t${index + 1}`],
  }));
  const topics = new Set(members.flatMap((member) => member.topics));
  return createInitialLoads(
    members,
    new Map([...topics].map((topic) => [topic, partitionsPerTopic])),
    noOwners,
  );
}

describe('balance', () => {
  it('does not change an even assignment', () => {
    const { members, partitions } = chain(5, 1);
    for (const partition of partitions) [...partition.eligible.members].at(-1)?.take(partition);
    expect(balance(members)).toBe(0);
    expect(loads(members)).toEqual([1, 1, 1, 1, 2]);
  });

  it('needs the fewest moves if everything must pass through a long chain', () => {
    const length = 100;
    const { members, partitions } = chain(length, length);
    for (const partition of partitions) [...partition.eligible.members][0]?.take(partition);
    expect(loads(members).slice(0, 3)).toEqual([200, 100, 100]);

    const moves = balance(members);
    expect(new Set(loads(members))).toEqual(new Set([101]));
    expect(moves).toBe((length * (length - 1)) / 2);
  });

  it('prefers to move a partition back to its previous owner', () => {
    const owners = new PreviousOwners();
    for (const partition of [1, 2]) owners.claim('b', 1, { topic: 't', partition });
    const subscriptions = [
      { memberId: 'a', topics: ['t'] },
      { memberId: 'b', topics: ['t'] },
    ];
    const { members, partitions } = createInitialLoads(subscriptions, new Map([['t', 4]]), owners);
    for (const partition of partitions) members[0]?.take(partition);
    balance(members);
    expect(members[1]?.partitions().map(({ partition }) => partition)).toEqual([1, 2]);
  });

  it('moves partitions without a previous owner first, before those that the member had', () => {
    const owners = new PreviousOwners();
    for (const partition of [1, 3]) owners.claim('a', 1, { topic: 't', partition });
    const subscriptions = [
      { memberId: 'a', topics: ['t'] },
      { memberId: 'b', topics: ['t'] },
    ];
    const { members, partitions } = createInitialLoads(subscriptions, new Map([['t', 4]]), owners);
    for (const partition of partitions) members[0]?.take(partition);
    balance(members);
    expect(members[0]?.partitions().map(({ partition }) => partition)).toEqual([1, 3]);
  });
});
