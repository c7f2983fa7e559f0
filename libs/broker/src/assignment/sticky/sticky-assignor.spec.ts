import fc from 'fast-check';
import type { TopicPartition } from '../../port/record.js';
import type { AssignmentPlan, AssignorMember, PreviousAssignment } from '../assignor.js';
import { NO_GENERATION } from '../protocol/consumer-protocol.js';
import { StickyAssignor } from './sticky-assignor.js';

const sticky = new StickyAssignor();

const partitions = (text: string): TopicPartition[] =>
  text
    .split(' ')
    .filter((name) => name !== '')
    .map((name) => ({ topic: name.split('-')[0] ?? '', partition: Number(name.split('-')[1]) }));

const names = (share: readonly TopicPartition[] = []): string[] =>
  share.map(({ topic, partition }) => `${topic}-${partition}`);

function member(
  memberId: string,
  topics: readonly string[],
  previous: PreviousAssignment | null = null,
): AssignorMember {
  const userData = sticky.userData(previous);
  return {
    memberId,
    instanceId: null,
    topics,
    userData,
    owned: [],
    generation: NO_GENERATION,
    rack: null,
  };
}

function assign(
  members: readonly AssignorMember[],
  partitionsOf: Record<string, number>,
): AssignmentPlan {
  return sticky.assign({ members, partitionsOf: new Map(Object.entries(partitionsOf)) });
}

const shown = (plan: AssignmentPlan): Record<string, string> =>
  Object.fromEntries([...plan].map(([memberId, share]) => [memberId, names(share).join(' ')]));

/** Returns the members of a plan as they rejoin in the next generation. */
function rejoining(
  members: readonly AssignorMember[],
  plan: AssignmentPlan,
  generation: number,
): AssignorMember[] {
  return members.map(({ memberId, topics }) => {
    const share = plan.get(memberId);
    return member(memberId, topics, share === undefined ? null : { partitions: share, generation });
  });
}

/** Returns the number of partitions with another owner than before. */
function moved(before: AssignmentPlan, after: AssignmentPlan): number {
  return [...after].reduce((total, [memberId, share]) => {
    const had = new Set(names(before.get(memberId)));
    return total + names(share).filter((name) => !had.has(name)).length;
  }, 0);
}

describe('StickyAssignor guarantees of the Java documentation', () => {
  const four = { t0: 2, t1: 2, t2: 2, t3: 2 };
  const all = Object.keys(four);

  it('assigns the partitions of a new group to its members in turn', () => {
    const plan = assign([member('C2', all), member('C0', all), member('C1', all)], four);
    expect(shown(plan)).toEqual({
      C0: 't0-0 t1-1 t3-0',
      C1: 't0-1 t2-0 t3-1',
      C2: 't1-0 t2-1',
    });
  });

  it('keeps all partitions of the remaining members when one member leaves', () => {
    const left = [
      member('C0', all, { partitions: partitions('t0-0 t1-1 t3-0'), generation: 1 }),
      member('C2', all, { partitions: partitions('t1-0 t2-1'), generation: 1 }),
    ];
    expect(shown(assign(left, four))).toEqual({
      C0: 't0-0 t1-1 t2-0 t3-0',
      C2: 't0-1 t1-0 t2-1 t3-1',
    });
  });

  it('balances unequal subscriptions as evenly as they allow', () => {
    const counts = { t0: 1, t1: 2, t2: 3 };
    const members = [
      member('C0', ['t0']),
      member('C1', ['t0', 't1']),
      member('C2', ['t0', 't1', 't2']),
    ];
    const plan = assign(members, counts);
    expect(shown(plan)).toEqual({ C0: 't0-0', C1: 't1-0 t1-1', C2: 't2-0 t2-1 t2-2' });

    const without = rejoining(members, plan, 1).slice(1);
    expect(shown(assign(without, counts))).toEqual({
      C1: 't0-0 t1-0 t1-1',
      C2: 't2-0 t2-1 t2-2',
    });
  });

  it('balances through a third member if there is no direct move', () => {
    const members = [
      member('a', ['x'], { partitions: partitions('x-0 x-1 x-2'), generation: 1 }),
      member('b', ['x', 'y'], { partitions: partitions('y-0 y-1'), generation: 1 }),
      member('c', ['y'], null),
    ];
    const plan = assign(members, { x: 3, y: 2 });
    expect(
      [...plan.values()].map((share) => share.length).sort((left, right) => left - right),
    ).toEqual([1, 2, 2]);
  });
});

describe('S2-7-02: StickyAssignor with six partitions, three members, then two, then three', () => {
  const topics = ['orders'];
  const counts = { orders: 6 };
  const three = [member('a', topics), member('b', topics), member('c', topics)];
  const first = assign(three, counts);
  const second = assign(rejoining(three, first, 1).slice(0, 2), counts);
  const third = assign([...rejoining(three.slice(0, 2), second, 2), member('d', topics)], counts);

  it('moves only the two partitions of the member that left', () => {
    expect(moved(first, second)).toBe(2);
  });

  it('moves only two partitions to the member that joined', () => {
    expect(moved(second, third)).toBe(2);
    expect(third.get('d')).toHaveLength(2);
  });
});

describe('StickyAssignor with a partition that two members claim', () => {
  const topics = ['t'];
  const claim = (text: string, generation: number): PreviousAssignment => ({
    partitions: partitions(text),
    generation,
  });

  it('keeps the partition at the member that claims it in the higher generation', () => {
    const members = [
      member('a', topics, claim('t-0', 3)),
      member('b', topics, claim('t-0 t-1', 2)),
    ];
    expect(shown(assign(members, { t: 2 }))).toEqual({ a: 't-0', b: 't-1' });
    const other = [member('a', topics, claim('t-0 t-1', 2)), member('b', topics, claim('t-0', 3))];
    expect(shown(assign(other, { t: 2 }))).toEqual({ a: 't-1', b: 't-0' });
  });

  it('treats the partition as new if two members claim it in the same generation, even if an older claim exists', () => {
    const members = [
      member('a', topics, claim('t-2 t-3', 5)),
      member('b', topics, claim('t-0 t-2', 5)),
      member('c', topics, claim('t-1 t-2', 4)),
    ];
    expect(shown(assign(members, { t: 6 }))).toEqual({
      a: 't-2 t-3',
      b: 't-0 t-4',
      c: 't-1 t-5',
    });
  });

  it('prefers any claim with a generation to one without', () => {
    const old = sticky.userData(claim('t-0', 0))?.subarray(0, -4) ?? null;
    const members = [
      { ...member('a', topics), userData: old },
      member('b', topics, claim('t-0', 0)),
    ];
    expect(names(assign(members, { t: 2 }).get('b'))).toEqual(['t-0']);
  });

  it('ignores claims of partitions and topics that do not exist or are not subscribed', () => {
    const members = [
      member('a', topics, claim('t--1 t-7 gone-0 u-0 t-1', 1)),
      member('b', ['t', 'u'], null),
    ];
    expect(shown(assign(members, { t: 2, u: 1 }))).toEqual({ a: 't-0 t-1', b: 'u-0' });
  });
});

describe('StickyAssignor for any group', () => {
  it('returns the same assignment for any order of the members', () => {
    fc.assert(
      fc.property(groups(), fc.infiniteStream(fc.nat()), ({ members, counts }, noise) => {
        const shuffled = members
          .map((each) => ({ each, rank: noise.next().value as number }))
          .sort((left, right) => left.rank - right.rank)
          .map(({ each }) => each);
        expect(shown(assign(shuffled, counts))).toEqual(shown(assign(members, counts)));
      }),
    );
  });

  it('returns the most even assignment that the subscriptions allow', () => {
    fc.assert(
      fc.property(groups({ members: 4, partitions: 2 }), ({ members, counts }) => {
        expect(unevenness(assign(members, counts))).toBe(leastUnevenness(members, counts));
      }),
      { numRuns: 300 },
    );
  });

  it('moves nothing when members, subscriptions and partitions are unchanged', () => {
    fc.assert(
      fc.property(groups(), ({ members, counts }) => {
        const plan = assign(members, counts);
        expect(shown(assign(rejoining(members, plan, 9), counts))).toEqual(shown(plan));
      }),
    );
  });

  it('does not throw for a member id that appears twice', () => {
    const plan = assign([member('a', ['t']), member('a', ['t'])], { t: 3 });
    expect(plan.get('a')).toHaveLength(3);
  });
});

describe('StickyAssignor with equal subscriptions', () => {
  const counts = { t: 7, u: 5 };
  const topics = Object.keys(counts);
  const total = 12;
  const sized = fc.integer({ min: 1, max: 15 });
  const group = (size: number): AssignorMember[] =>
    Array.from({ length: size }, (_, index) =>
      member(`m${String(index).padStart(2, '0')}`, topics),
    );

  it('assigns loads that differ by at most one, and moves as few partitions as possible', () => {
    fc.assert(
      fc.property(
        sized,
        fc.array(fc.nat(20), { minLength: total, maxLength: total }),
        (size, by) => {
          const members = withOwners(group(size), by, counts);
          const before = members.map(({ previous }) => previous.partitions.length);
          const plan = assign(
            members.map(({ memberId, previous }) => member(memberId, topics, previous)),
            counts,
          );
          const loads = [...plan.values()].map((share) => share.length);
          const quota = Math.floor(total / size);
          const kept = members.map(
            ({ memberId, previous }) =>
              names(plan.get(memberId)).filter((name) => names(previous.partitions).includes(name))
                .length,
          );
          expect(Math.max(...loads) - Math.min(...loads)).toBeLessThanOrEqual(1);
          kept.forEach((count, index) =>
            expect(count).toBeGreaterThanOrEqual(Math.min(before[index] ?? 0, quota)),
          );
          expect(sum(kept)).toBe(mostThatCanBeKept(before, quota, total % size));
        },
      ),
    );
  });

  it('moves only the partitions of a member that leaves', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 15 }), fc.nat(), (size, leaver) => {
        const members = group(size);
        const plan = assign(members, counts);
        const gone = members[leaver % size]?.memberId ?? '';
        const left = rejoining(members, plan, 1).filter(({ memberId }) => memberId !== gone);
        expect(moved(plan, assign(left, counts))).toBe(plan.get(gone)?.length);
      }),
    );
  });

  it('assigns at most its equal share to a new member, and moves nothing else', () => {
    fc.assert(
      fc.property(sized, (size) => {
        const members = group(size);
        const plan = assign(members, counts);
        const after = assign([...rejoining(members, plan, 1), member('new', topics)], counts);
        expect(moved(plan, after)).toBe(after.get('new')?.length);
        expect(after.get('new')?.length).toBeLessThanOrEqual(Math.ceil(total / (size + 1)));
      }),
    );
  });
});

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

/**
 * Creates members with the given owners: `by[i]` is the index of the owner of partition i. An index
 * without a member means no owner.
 */
function withOwners(
  members: readonly AssignorMember[],
  by: readonly number[],
  counts: Record<string, number>,
): { memberId: string; previous: PreviousAssignment }[] {
  const every = everyPartition(counts);
  return members.map(({ memberId }, index) => ({
    memberId,
    previous: { generation: 1, partitions: every.filter((_, at) => by[at] === index) },
  }));
}

function everyPartition(counts: Record<string, number>): TopicPartition[] {
  return Object.entries(counts).flatMap(([topic, count]) =>
    Array.from({ length: count }, (_, partition) => ({ topic, partition })),
  );
}

function mostThatCanBeKept(before: readonly number[], quota: number, extras: number): number {
  const within = sum(before.map((count) => Math.min(count, quota)));
  return within + Math.min(extras, before.filter((count) => count > quota).length);
}

function unevenness(plan: AssignmentPlan): number {
  return sum([...plan.values()].map((share) => share.length ** 2));
}

/** Returns the lowest sum of squared loads, found by trying every assignment. */
function leastUnevenness(
  members: readonly AssignorMember[],
  counts: Record<string, number>,
): number {
  const all = everyPartition(counts);
  const loads = members.map(() => 0);
  const place = (index: number): number => {
    const slot = all[index];
    if (slot === undefined) return sum(loads.map((load) => load ** 2));
    let least = Infinity;
    members.forEach(({ topics }, at) => {
      if (!topics.includes(slot.topic)) return;
      loads[at] = (loads[at] ?? 0) + 1;
      least = Math.min(least, place(index + 1));
      loads[at] = (loads[at] ?? 0) - 1;
    });
    return least === Infinity ? place(index + 1) : least;
  };
  return place(0);
}

function groups(
  size: { members: number; partitions: number } = { members: 8, partitions: 9 },
): fc.Arbitrary<{ members: AssignorMember[]; counts: Record<string, number> }> {
  const known = ['t', 'u', 'v'];
  const claimed = fc.tuple(fc.constantFrom(...known, 'gone'), fc.integer({ min: -1, max: 9 }));
  const previous = fc.option(
    fc.record({
      partitions: fc
        .array(claimed, { maxLength: 12 })
        .map((pairs) => pairs.map(([topic, partition]) => ({ topic, partition }))),
      generation: fc.integer({ min: -1, max: 2 }),
    }),
  );
  const memberOf = fc.tuple(fc.subarray([...known, 'missing']), previous);
  return fc.record({
    members: fc
      .array(memberOf, { minLength: 1, maxLength: size.members })
      .map((all) => all.map(([topics, claims], index) => member(`m${index}`, topics, claims))),
    counts: fc.record({
      t: fc.nat(size.partitions),
      u: fc.nat(size.partitions),
      v: fc.nat(size.partitions),
    }),
  });
}
