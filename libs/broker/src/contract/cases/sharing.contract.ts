import assert from 'node:assert/strict';
import type { AssignorName } from '../../port/consumer.js';
import { InconsistentGroupProtocolError } from '../../port/errors.js';
import { joinTogether, sharedOut } from '../group.js';
import type { Member } from '../member.js';
import { nameOf, namesOf } from '../partition-name.js';
import type { ContractSuite } from '../suite.js';

export function sharingContract(suite: ContractSuite): void {
  for (const assignor of ['range', 'sticky', 'cooperative-sticky'] as const)
    suite.chapter(`with ${assignor}`, () => sharingWith(suite, assignor));
  suite.chapter('with range only', () => range(suite));
  for (const assignor of ['sticky', 'cooperative-sticky'] as const)
    suite.chapter(`with ${assignor} only`, () => sticky(suite, assignor));
  suite.chapter('with members that differ', () => preferences(suite));
}

function sharingWith({ needing }: ContractSuite, assignor: AssignorName): void {
  const promise = needing(assignor);
  const assignors = [assignor];

  for (const [count, partitions, shares] of [
    [2, 4, [2, 2]],
    [2, 5, [2, 3]],
    [3, 6, [2, 2, 2]],
  ] as const)
    promise(
      `${count} members share ${partitions} partitions, each owned exactly once`,
      async (world) => {
        const topics = [await world.topic(partitions)];
        const members = await joinTogether(world, count, { topics, assignors });
        await sharedOut(world, members, namesOf(topics[0] ?? '', partitions));
        assert.deepEqual(
          members.map((each) => each.owned().length).sort((left, right) => left - right),
          shares,
        );
      },
    );

  promise('a member beyond the number of partitions owns none, and is stable', async (world) => {
    const topics = [await world.topic()];
    const members = await joinTogether(world, 2, { topics, assignors });
    await sharedOut(world, members, namesOf(topics[0] ?? '', 1));
    assert.deepEqual(
      members.map((each) => each.owned().length).sort((left, right) => left - right),
      [0, 1],
    );
  });

  promise('a topic goes only to the members that subscribe to it', async (world) => {
    const [common, special] = [await world.topic(2), await world.topic(2)];
    const groupId = world.name('group');
    const plain = await world.join({ groupId, assignors, topics: [common] });
    const driver = await world.process();
    const both = await world.join({ groupId, assignors, driver, topics: [common, special] });
    await sharedOut(world, [plain, both], [...namesOf(common, 2), ...namesOf(special, 2)]);
    const special2 = namesOf(special, 2);
    assert.deepEqual(
      both.owned().filter((name) => special2.includes(name)),
      special2,
    );
  });

  promise('the leader plans for topics that it does not read itself', async (world) => {
    const [mine, theirs] = [await world.topic(2), await world.topic(3)];
    const groupId = world.name('group');
    const leader = await world.join({ groupId, assignors, topics: [mine] });
    const driver = await world.process();
    const other = await world.join({ groupId, assignors, driver, topics: [theirs] });
    await sharedOut(world, [leader, other], [...namesOf(mine, 2), ...namesOf(theirs, 3)]);
    assert.deepEqual(other.owned(), namesOf(theirs, 3));
  });

  promise('who leaves is replaced, who joins gets a share', async (world) => {
    const [topic, groupId] = [await world.topic(4), world.name('group')];
    const options = { topics: [topic], groupId, assignors };
    const [first, second] = await joinTogether(world, 2, options);
    assert.ok(first && second);
    await first.close();
    await sharedOut(world, [second], namesOf(topic, 4));
    const third = await world.join({ ...options, driver: await world.process() });
    await sharedOut(world, [second, third], namesOf(topic, 4));
    assert.equal(third.owned().length, 2);
  });
}

function range({ needing }: ContractSuite): void {
  needing('range')('shares are contiguous, and topics are cut alike', async (world) => {
    const topics = [await world.topic(5), await world.topic(5)];
    const members = await joinTogether(world, 2, { topics, assignors: ['range'] });
    await sharedOut(
      world,
      members,
      topics.flatMap((topic) => namesOf(topic, 5)),
    );
    const shares = members.map((member) => topics.map((topic) => numbersIn(member, topic)));
    for (const [first, second] of shares) assert.deepEqual(first, second);
    assert.deepEqual(shares.map(([share]) => String(share?.join())).sort(), ['0,1,2', '3,4']);
  });
}

function numbersIn(member: Member, topic: string): number[] {
  const ours = member.session.assignment().filter((each) => each.topic === topic);
  return ours.map(({ partition }) => partition).sort((left, right) => left - right);
}

function sticky({ needing }: ContractSuite, assignor: AssignorName): void {
  needing(assignor)('only as many partitions move as have to', async (world) => {
    const [topic, groupId] = [await world.topic(6), world.name('group')];
    const options = { topics: [topic], groupId, assignors: [assignor] };
    const members = await joinTogether(world, 2, options);
    await sharedOut(world, members, namesOf(topic, 6));
    const before = members.map((member) => member.owned());

    const third = await world.join({ ...options, driver: await world.process() });
    await sharedOut(world, [...members, third], namesOf(topic, 6));
    assert.deepEqual(kept(members, before), [2, 2]);

    const three = members.map((member) => member.owned());
    await third.close();
    await sharedOut(world, members, namesOf(topic, 6));
    assert.deepEqual(kept(members, three), [2, 2]);
  });
}

function kept(members: readonly Member[], before: readonly string[][]): number[] {
  return members.map((member, index) => {
    const now = new Set(member.owned());
    return (before[index] ?? []).filter((name) => now.has(name)).length;
  });
}

function preferences({ needing }: ContractSuite): void {
  const promise = needing('range', 'sticky');

  promise('the group settles on an assignor that all its members have', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    const options = { topics: [topic], groupId };
    const first = await world.join({ ...options, assignors: ['sticky', 'range'] });
    const driver = await world.process();
    const second = await world.join({ ...options, assignors: ['range'], driver });
    await sharedOut(world, [first, second], namesOf(topic, 2));
    assert.equal((await world.admin.describeGroup(groupId)).protocol, 'range');
  });

  promise(
    'who shares no assignor with the group is told so, hurts nobody, and joins when it can',
    async (world) => {
      const [topic, groupId] = [await world.topic(2), world.name('group')];
      const options = { topics: [topic], groupId };
      const first = await world.join({ ...options, assignors: ['sticky'] });
      const driver = await world.process();
      const second = world.member({ ...options, assignors: ['range'], driver });
      const starting = second.begin();
      await world.eventually('the second member reports the conflict', () =>
        second.reported().some((error) => error instanceof InconsistentGroupProtocolError),
      );
      assert.equal(second.session.status.state, 'retrying');
      assert.deepEqual(first.session.assignment().map(nameOf).sort(), namesOf(topic, 2));
      await first.close();
      await world.within(starting, 'the second to join once the others have left');
    },
  );
}
