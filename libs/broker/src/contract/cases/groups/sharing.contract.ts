import assert from 'node:assert/strict';
import type { AssignorName } from '../../../port/consumer.js';
import { InconsistentGroupProtocolError } from '../../../port/errors.js';
import { joinTogether, waitUntilShared } from '../../group.js';
import type { Member } from '../../member.js';
import { partitionName } from '../../../port/topic-partition.js';
import { namesOfPartitions } from '../../test-values.js';
import type { ContractSuite } from '../../contract-suite.js';

export function sharingContract(suite: ContractSuite): void {
  for (const assignor of ['range', 'sticky', 'cooperative-sticky'] as const)
    suite.section(`with ${assignor}`, () => sharingWith(suite, assignor));
  suite.section('with range only', () => range(suite));
  for (const assignor of ['sticky', 'cooperative-sticky'] as const)
    suite.section(`with ${assignor} only`, () => sticky(suite, assignor));
  suite.section('with different members', () => preferences(suite));
}

function sharingWith({ requiring }: ContractSuite, assignor: AssignorName): void {
  const testCase = requiring(assignor);
  const assignors = [assignor];

  for (const [count, partitions, shares] of [
    [2, 4, [2, 2]],
    [2, 5, [2, 3]],
    [3, 6, [2, 2, 2]],
  ] as const)
    testCase(
      `${count} members own ${partitions} partitions, each exactly once`,
      async (context) => {
        const topics = [await context.topic(partitions)];
        const members = await joinTogether(context, count, { topics, assignors });
        await waitUntilShared(context, members, namesOfPartitions(topics[0] ?? '', partitions));
        assert.deepEqual(
          members.map((each) => each.owned().length).sort((left, right) => left - right),
          shares,
        );
      },
    );

  testCase('a member beyond the number of partitions owns none, and is stable', async (context) => {
    const topics = [await context.topic()];
    const members = await joinTogether(context, 2, { topics, assignors });
    await waitUntilShared(context, members, namesOfPartitions(topics[0] ?? '', 1));
    assert.deepEqual(
      members.map((each) => each.owned().length).sort((left, right) => left - right),
      [0, 1],
    );
  });

  testCase('a topic is assigned only to its subscribers', async (context) => {
    const [common, special] = [await context.topic(2), await context.topic(2)];
    const groupId = context.name('group');
    const plain = await context.join({ groupId, assignors, topics: [common] });
    const driver = await context.newProcess();
    const both = await context.join({ groupId, assignors, driver, topics: [common, special] });
    await waitUntilShared(
      context,
      [plain, both],
      [...namesOfPartitions(common, 2), ...namesOfPartitions(special, 2)],
    );
    const special2 = namesOfPartitions(special, 2);
    assert.deepEqual(
      both.owned().filter((name) => special2.includes(name)),
      special2,
    );
  });

  testCase('the leader assigns topics that it does not read itself', async (context) => {
    const [mine, theirs] = [await context.topic(2), await context.topic(3)];
    const groupId = context.name('group');
    const leader = await context.join({ groupId, assignors, topics: [mine] });
    const driver = await context.newProcess();
    const other = await context.join({ groupId, assignors, driver, topics: [theirs] });
    await waitUntilShared(
      context,
      [leader, other],
      [...namesOfPartitions(mine, 2), ...namesOfPartitions(theirs, 3)],
    );
    assert.deepEqual(other.owned(), namesOfPartitions(theirs, 3));
  });

  testCase(
    'the partitions of a leaving member are reassigned, and a joining member gets some',
    async (context) => {
      const [topic, groupId] = [await context.topic(4), context.name('group')];
      const options = { topics: [topic], groupId, assignors };
      const [first, second] = await joinTogether(context, 2, options);
      assert.ok(first && second);
      await first.close();
      await waitUntilShared(context, [second], namesOfPartitions(topic, 4));
      const third = await context.join({ ...options, driver: await context.newProcess() });
      await waitUntilShared(context, [second, third], namesOfPartitions(topic, 4));
      assert.equal(third.owned().length, 2);
    },
  );
}

function range({ requiring }: ContractSuite): void {
  requiring('range')('ranges are contiguous, and topics are divided alike', async (context) => {
    const topics = [await context.topic(5), await context.topic(5)];
    const members = await joinTogether(context, 2, { topics, assignors: ['range'] });
    await waitUntilShared(
      context,
      members,
      topics.flatMap((topic) => namesOfPartitions(topic, 5)),
    );
    const shares = members.map((member) => topics.map((topic) => numbersIn(member, topic)));
    for (const [first, second] of shares) assert.deepEqual(first, second);
    assert.deepEqual(shares.map(([share]) => String(share?.join())).sort(), ['0,1,2', '3,4']);
  });
}

function numbersIn(member: Member, topic: string): number[] {
  const assigned = member.session.assignment().filter((each) => each.topic === topic);
  return assigned.map(({ partition }) => partition).sort((left, right) => left - right);
}

function sticky({ requiring }: ContractSuite, assignor: AssignorName): void {
  requiring(assignor)('a rebalance moves as few partitions as possible', async (context) => {
    const [topic, groupId] = [await context.topic(6), context.name('group')];
    const options = { topics: [topic], groupId, assignors: [assignor] };
    const members = await joinTogether(context, 2, options);
    await waitUntilShared(context, members, namesOfPartitions(topic, 6));
    const before = members.map((member) => member.owned());

    const third = await context.join({ ...options, driver: await context.newProcess() });
    await waitUntilShared(context, [...members, third], namesOfPartitions(topic, 6));
    assert.deepEqual(countKept(members, before), [2, 2]);

    const three = members.map((member) => member.owned());
    await third.close();
    await waitUntilShared(context, members, namesOfPartitions(topic, 6));
    assert.deepEqual(countKept(members, three), [2, 2]);
  });
}

function countKept(members: readonly Member[], before: readonly string[][]): number[] {
  return members.map((member, index) => {
    const now = new Set(member.owned());
    return (before[index] ?? []).filter((name) => now.has(name)).length;
  });
}

function preferences({ requiring }: ContractSuite): void {
  const testCase = requiring('range', 'sticky');

  testCase('the group uses an assignor that all members support', async (context) => {
    const [topic, groupId] = [await context.topic(2), context.name('group')];
    const options = { topics: [topic], groupId };
    const first = await context.join({ ...options, assignors: ['sticky', 'range'] });
    const driver = await context.newProcess();
    const second = await context.join({ ...options, assignors: ['range'], driver });
    await waitUntilShared(context, [first, second], namesOfPartitions(topic, 2));
    assert.equal((await context.admin.describeGroup(groupId)).protocol, 'range');
  });

  testCase(
    'a member without a common assignor gets an error, does not affect the others, and joins when it can',
    async (context) => {
      const [topic, groupId] = [await context.topic(2), context.name('group')];
      const options = { topics: [topic], groupId };
      const first = await context.join({ ...options, assignors: ['sticky'] });
      const driver = await context.newProcess();
      const second = context.member({ ...options, assignors: ['range'], driver });
      const starting = second.startWithoutDeadline();
      await context.eventually('the second member reports the conflict', () =>
        second.reportedErrors().some((error) => error instanceof InconsistentGroupProtocolError),
      );
      assert.equal(second.session.status.state, 'retrying');
      assert.deepEqual(
        first.session.assignment().map(partitionName).sort(),
        namesOfPartitions(topic, 2),
      );
      await first.close();
      await context.within(starting, 'the second to join once the others have left');
    },
  );
}
