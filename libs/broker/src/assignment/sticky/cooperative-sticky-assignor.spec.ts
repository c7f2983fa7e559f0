import fc from 'fast-check';
import type { TopicPartition } from '../../port/record.js';
import type { AssignmentPlan, AssignorMember, PreviousAssignment } from '../assignor.js';
import { CooperativeStickyAssignor, encodeGeneration } from './cooperative-sticky-assignor.js';

import { NO_GENERATION } from '../protocol/consumer-protocol.js';

const assignor = new CooperativeStickyAssignor();
const orders = (...numbers: number[]): TopicPartition[] =>
  numbers.map((partition) => ({ topic: 'orders', partition }));

function member(memberId: string, held: PreviousAssignment | null = null): AssignorMember {
  return {
    memberId,
    instanceId: null,
    topics: ['orders'],
    userData: assignor.userData(held),
    owned: held?.partitions ?? [],
    generation: held?.generation ?? NO_GENERATION,
    rack: null,
  };
}

const assign = (count: number, ...members: AssignorMember[]): AssignmentPlan =>
  assignor.assign({ members, partitionsOf: new Map([['orders', count]]) });

const shown = (plan: AssignmentPlan): Record<string, number[]> =>
  Object.fromEntries([...plan].map(([id, share]) => [id, share.map((each) => each.partition)]));

describe('CooperativeStickyAssignor', () => {
  it('revokes partitions for a new member from their owner, and does not assign them yet', () => {
    const plan = assign(
      4,
      member('a', { partitions: orders(0, 1, 2, 3), generation: 1 }),
      member('b'),
    );
    expect(shown(plan)).toEqual({ a: [2, 3], b: [] });
  });

  it('assigns the revoked partitions to the new member once no member claims them', () => {
    const plan = assign(
      4,
      member('a', { partitions: orders(0, 1), generation: 2 }),
      member('b', { partitions: [], generation: 2 }),
    );
    expect(shown(plan)).toEqual({ a: [0, 1], b: [2, 3] });
  });

  it('assigns the partitions of a member that left at once, and moves no other partition', () => {
    const plan = assign(
      6,
      member('a', { partitions: orders(0, 1), generation: 4 }),
      member('b', { partitions: orders(4, 5), generation: 4 }),
    );
    expect(shown(plan)).toEqual({ a: [0, 1, 2], b: [3, 4, 5] });
  });

  it('keeps a partition at the member that claims it in the higher generation (KAFKA-12984)', () => {
    const plan = assign(
      2,
      member('behind', { partitions: orders(0, 1), generation: 3 }),
      member('current', { partitions: orders(0), generation: 5 }),
    );
    expect(shown(plan)).toEqual({ behind: [1], current: [0] });
  });

  it('does not assign a partition that two members claim in one generation, until both have revoked it (KAFKA-13715)', () => {
    const claim = { partitions: orders(0), generation: 3 };
    expect(shown(assign(1, member('a', claim), member('b', claim)))).toEqual({ a: [], b: [] });
    const none = { partitions: [], generation: 4 };
    expect(shown(assign(1, member('a', none), member('b', none)))).toEqual({ a: [0], b: [] });
  });

  it('does not assign a partition that a member of an older generation still claims', () => {
    const plan = assign(
      3,
      member('a', { partitions: orders(0, 1, 2), generation: 1 }),
      member('b', { partitions: [], generation: 7 }),
      member('c', { partitions: [], generation: 7 }),
    );
    expect(shown(plan)).toEqual({ a: [2], b: [], c: [] });
  });

  it('uses the user data of clients that do not write the generation field', () => {
    const old = (memberId: string, generation: number): AssignorMember => ({
      ...member(memberId, { partitions: orders(0), generation: NO_GENERATION }),
      userData: encodeGeneration(generation),
    });
    expect(shown(assign(1, old('a', 3), old('b', 4)))).toEqual({ a: [], b: [0] });
  });

  it.each([null, Buffer.alloc(0), Buffer.from([1])])(
    'treats a member with user data %j as one without a generation',
    (userData) => {
      const plan = assign(
        1,
        { ...member('a', { partitions: orders(0), generation: NO_GENERATION }), userData },
        member('b', { partitions: orders(0), generation: 1 }),
      );
      expect(shown(plan)).toEqual({ a: [], b: [0] });
    },
  );

  it('encodes the generation as Java does, and -1 before the first assignment', () => {
    expect(assignor.userData(null).toString('hex')).toBe('ffffffff');
    expect(assignor.userData({ partitions: [], generation: 2 }).toString('hex')).toBe('00000002');
  });
});

describe('a cooperative group after any sequence of joins, leaves and new partitions', () => {
  const change = fc.record({ joins: fc.nat(3), leaves: fc.nat(2), grows: fc.nat(3) });

  /**
   * Returns the partitions of the members after a round. Members keep the confirmed partitions,
   * revoke the others, and add the new ones.
   */
  const after = (plan: AssignmentPlan, generation: number): Map<string, PreviousAssignment> =>
    new Map([...plan].map(([id, partitions]) => [id, { partitions, generation }]));

  it('is balanced after two rounds, and no partition ever has two owners', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 6 }), (changes) => {
        let held = new Map<string, PreviousAssignment | null>([['m0', null]]);
        let [count, names, generation] = [3, 1, 0];
        for (const { joins, leaves, grows } of changes) {
          count += grows;
          for (let each = 0; each < leaves && held.size > 1; each++)
            held.delete([...held.keys()][0] ?? '');
          for (let each = 0; each < joins; each++) held.set(`m${names++}`, null);
          for (let round = 0; round < 2; round++) {
            const plan = assign(count, ...[...held].map(([id, has]) => member(id, has)));
            const given = [...plan.values()].flat();
            expect(new Set(given.map(({ partition }) => partition)).size).toBe(given.length);
            for (const [id, share] of plan)
              for (const { partition } of share)
                for (const [other, has] of held)
                  if (other !== id)
                    expect(has?.partitions.map((each) => each.partition) ?? []).not.toContain(
                      partition,
                    );
            held = new Map(after(plan, ++generation));
          }
          const sizes = [...held.values()].map((has) => has?.partitions.length ?? 0);
          expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(count);
          expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
        }
      }),
    );
  });
});
