import fc from 'fast-check';
import type { AssignmentPlan, AssignorMember } from './assignor.js';
import { assignorNamed, assignorsInOrder } from './assignors.js';
import { NO_GENERATION } from './protocol/consumer-protocol.js';

const member = (
  memberId: string,
  topics: readonly string[],
  fields: Partial<AssignorMember> = {},
): AssignorMember => ({
  memberId,
  instanceId: null,
  topics,
  userData: null,
  owned: [],
  generation: NO_GENERATION,
  rack: null,
  ...fields,
});

const groups = fc.record({
  members: fc
    .array(
      fc.tuple(
        fc.subarray(['t', 'u', 'v', 'missing']),
        fc.option(fc.nat(9)),
        fc.option(fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes))),
      ),
      { maxLength: 8 },
    )
    .map((all) =>
      all.map(([topics, instance, userData], index) =>
        member(`m${index}`, topics, {
          userData,
          instanceId: instance === null ? null : `i${instance}-${index}`,
        }),
      ),
    ),
  partitionsOf: fc
    .record({ t: fc.nat(9), u: fc.nat(9), v: fc.nat(9) })
    .map((counts) => new Map(Object.entries(counts))),
});

const keys = (plan: AssignmentPlan): string[] =>
  [...plan.values()].flat().map(({ topic, partition }) => `${topic}-${partition}`);

function expectedKeys(
  members: readonly AssignorMember[],
  partitionsOf: ReadonlyMap<string, number>,
): string[] {
  const subscribed = new Set(members.flatMap(({ topics }) => topics));
  return [...partitionsOf]
    .filter(([topic]) => subscribed.has(topic))
    .flatMap(([topic, count]) => Array.from({ length: count }, (_, at) => `${topic}-${at}`));
}

describe.each(assignorsInOrder().map((assignor) => [assignor.name, assignor] as const))(
  'guarantees of the %s assignor',
  (_name, assignor) => {
    it('every partition of a subscribed existing topic is assigned to exactly one member', () => {
      fc.assert(
        fc.property(groups, (input) => {
          const { members, partitionsOf } = input;
          expect(keys(assignor.assign(input)).sort()).toEqual(
            expectedKeys(members, partitionsOf).sort(),
          );
        }),
      );
    });

    it('assigns partitions only to subscribers, and returns a plan with every member', () => {
      fc.assert(
        fc.property(groups, (input) => {
          const plan = assignor.assign(input);
          expect([...plan.keys()].sort()).toEqual(input.members.map(({ memberId }) => memberId));
          for (const { memberId, topics } of input.members)
            for (const { topic } of plan.get(memberId) ?? []) expect(topics).toContain(topic);
        }),
      );
    });

    it('the result does not depend on the order of the members', () => {
      fc.assert(
        fc.property(groups, (input) => {
          const reversed = { ...input, members: [...input.members].reverse() };
          const shares = (plan: AssignmentPlan): unknown => Object.fromEntries(plan);
          expect(shares(assignor.assign(reversed))).toEqual(shares(assignor.assign(input)));
        }),
      );
    });
  },
);

describe('assignors with 3,000 partitions and 450 members', () => {
  const ids = Array.from({ length: 450 }, (_, index) => `member-${String(index).padStart(3, '0')}`);
  const manyTopics = Array.from({ length: 3000 }, (_, index) => `topic-${index}`);
  const some = (index: number): string[] =>
    manyTopics.filter((_, at) => (at * 7 + index * 13) % 10 < 5);
  const singles = new Map(manyTopics.map((topic) => [topic, 1]));

  it.each([
    ['one topic', ids.map((id) => member(id, ['big'])), new Map([['big', 3000]])],
    ['3,000 topics', ids.map((id) => member(id, manyTopics)), singles],
    [
      'subscriptions that differ',
      ids.map((id, index) => member(id, index === 0 ? manyTopics : some(index))),
      singles,
    ],
  ])(
    'every partition is assigned once: %s',
    (_case, members, partitionsOf) => {
      for (const assignor of assignorsInOrder())
        expect(keys(assignor.assign({ members, partitionsOf }))).toHaveLength(3000);
    },
    60_000,
  );

  it('the sticky assignor leaves a member that owned all 3,000 partitions only its equal share', () => {
    const sticky = assignorNamed('sticky');
    const userData = sticky.userData({
      partitions: manyTopics.map((topic) => ({ topic, partition: 0 })),
      generation: 1,
    });
    const members = ids.map((id, index) =>
      index === 0 ? member(id, manyTopics, { userData }) : member(id, some(index)),
    );
    const plan = sticky.assign({ members, partitionsOf: singles });
    expect(keys(plan)).toHaveLength(3000);
    expect([6, 7]).toContain(plan.get('member-000')?.length);
  }, 60_000);
});
