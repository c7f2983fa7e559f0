import assert from 'node:assert/strict';
import { FencedError } from '../../../port/errors.js';
import { Deferred } from '../../../runtime/waiting.js';
import { readsAndCommits } from '../../reads-and-commits.js';
import { joinTogether, waitUntilShared } from '../../group.js';
import { valueOf, type Member } from '../../member.js';
import { numbered } from '../../test-values.js';
import { partitionName } from '../../../port/topic-partition.js';
import { namesOfPartitions } from '../../test-values.js';
import type { ContractSuite } from '../../contract-suite.js';
import type { CaseContext } from '../../case-context.js';

const assignors = ['cooperative-sticky'] as const;

export function cooperativeContract(suite: ContractSuite): void {
  suite.section('moved partitions', () => movedPartitions(suite));
  suite.section('during a rebalance', () => duringRebalance(suite));
  suite.section('mixed with eager members', () => mixedAssignors(suite));
}

function movedPartitions({ requiring }: ContractSuite): void {
  const testCase = requiring('cooperative-sticky');

  testCase(
    'partitions are revoked when a member joins, and assigned when one leaves',
    async (context) => {
      const [topic, groupId] = [await context.topic(4), context.name('group')];
      const options = { topics: [topic], groupId, assignors };
      const first = await context.join(options);
      const second = await context.join({ ...options, driver: await context.newProcess() });
      await waitUntilShared(context, [first, second], namesOfPartitions(topic, 4));
      const moved = second.owned();
      assert.deepEqual(first.eventsOf('revoked').sort(), moved);
      assert.deepEqual(first.eventsOf('assigned').sort(), namesOfPartitions(topic, 4));
      assert.deepEqual(second.eventsOf('assigned').sort(), moved);
      await second.close();
      await waitUntilShared(context, [first], namesOfPartitions(topic, 4));
      assert.deepEqual(first.eventsOf('revoked').sort(), moved);
      assert.deepEqual(
        first.eventsOf('assigned').sort(),
        [...namesOfPartitions(topic, 4), ...moved].sort(),
      );
      assert.deepEqual(first.eventsOf('lost'), []);
    },
  );

  testCase(
    'a moved partition can be committed in onRevoked, and its next owner starts there',
    async (context) => {
      const [topic, groupId] = [await context.topic(2), context.name('group')];
      for (const partition of [0, 1]) await context.write(topic, numbered(3), partition);
      const first: Member = context.member({
        topics: [topic],
        groupId,
        assignors,
        on: {
          onRevoked: (partitions) =>
            first.session.commit(partitions.map((each) => ({ ...each, offset: 2 }))),
        },
      });
      await first.start();
      await first.read(6);
      const driver = await context.newProcess();
      const second = await context.join({ topics: [topic], groupId, assignors, driver });
      await waitUntilShared(context, [first, second], namesOfPartitions(topic, 2));
      assert.deepEqual(await second.readValues(1), ['2']);
      const [stays] = first.session.assignment();
      assert.ok(stays);
      assert.equal(first.session.position(stays), 3);
    },
  );

  testCase(
    'a moved partition is fenced for its former owner, and the others are not',
    async (context) => {
      const [topic, groupId] = [await context.topic(2), context.name('group')];
      const options = { topics: [topic], groupId, assignors };
      const first = await context.join(options);
      const all = first.session.assignment().map((each) => ({ ...each, offset: 0 }));
      const second = await context.join({ ...options, driver: await context.newProcess() });
      await waitUntilShared(context, [first, second], namesOfPartitions(topic, 2));
      const error = await context.rejects(first.session.commit(all), FencedError);
      assert.deepEqual(error.partitions.map(partitionName), second.owned());
      assert.deepEqual(
        (await context.admin.groupOffsets(groupId)).map(partitionName),
        first.owned(),
      );
    },
  );

  testCase('the group is stable again after each of many joins and leaves', async (context) => {
    const [topic, groupId] = [await context.topic(6), context.name('group')];
    const options = { topics: [topic], groupId, assignors };
    const [first, ...others] = await joinTogether(context, 3, options);
    assert.ok(first);
    await waitUntilShared(context, [first, ...others], namesOfPartitions(topic, 6));
    await Promise.all(others.map((member) => member.close()));
    await waitUntilShared(context, [first], namesOfPartitions(topic, 6));
    const more = await joinTogether(context, 2, { ...options, driver: await context.newProcess() });
    await waitUntilShared(context, [first, ...more], namesOfPartitions(topic, 6));
    assert.deepEqual(first.eventsOf('lost'), []);
  });
}

function duringRebalance({ requiring }: ContractSuite): void {
  requiring('cooperative-sticky', 'unplug')(
    'kept partitions are read and committed without delay while a third member never rejoins',
    async (context) => {
      const [topic, groupId] = [await context.topic(2), context.name('group')];
      const waitMs = context.times.sessionTimeoutMs * 3;
      const options = { topics: [topic], groupId, assignors, rebalanceTimeoutMs: waitMs };
      const first = await context.join(options);
      const dying = await context.newProcess();
      // The session timeout exceeds the rebalance timeout, so the group waits for this member all
      // that time.
      const third = { ...options, sessionTimeoutMs: waitMs * 2, driver: dying };
      const dead = await context.join(third);
      await waitUntilShared(context, [first, dead], namesOfPartitions(topic, 2));
      await context.ability('unplug')(dying);
      const { generation } = first.session;
      const second = context.member({ ...options, driver: await context.newProcess() });
      const joining = second.start();
      await context.eventually('the rebalance begins', () => !first.isStable());
      await readsAndCommits(context, first, topic);
      assert.equal(first.session.generation, generation);
      await joining;
      await waitUntilShared(context, [first, second], namesOfPartitions(topic, 2));
      assert.deepEqual(first.eventsOf('lost'), []);
      assert.deepEqual(first.eventsOf('revoked').length, 1);
    },
  );

  const testCase = requiring('cooperative-sticky');

  testCase(
    'kept partitions are read and committed during the revocation of others',
    async (context) => {
      const { first, second, topic, gate } = await withSlowRevocation(context);
      await readsAndCommits(context, first, topic);
      assert.deepEqual(second.owned(), []);
      gate.resolve();
      await waitUntilShared(context, [first, second], namesOfPartitions(topic, 2));
      assert.deepEqual(first.eventsOf('lost'), []);
    },
  );

  testCase('a revocation that never ends loses only the moved partitions', async (context) => {
    const { first, second, topic, gate } = await withSlowRevocation(context);
    await waitUntilShared(context, [first, second], namesOfPartitions(topic, 2));
    assert.deepEqual(first.eventsOf('lost'), second.owned());
    await readsAndCommits(context, first, topic);
    gate.resolve();
  });

  testCase('a paused partition stays paused at its position', async (context) => {
    const [topic, groupId] = [await context.topic(2), context.name('group')];
    const options = { topics: [topic], groupId, assignors };
    for (const partition of [0, 1]) await context.write(topic, numbered(2), partition);
    const first = await context.join(options);
    await first.read(4);
    first.session.pause(first.session.assignment());
    const second = await context.join({ ...options, driver: await context.newProcess() });
    await waitUntilShared(context, [first, second], namesOfPartitions(topic, 2));
    const [stays] = first.session.assignment();
    assert.ok(stays);
    assert.deepEqual(first.session.paused().map(partitionName), [partitionName(stays)]);
    await context.write(topic, ['new'], stays.partition);
    const poll = first.session.poll(1);
    await context.staysPending(poll, 'A poll of what is paused');
    first.session.resume([stays]);
    assert.deepEqual((await context.within(poll, 'the record')).map(valueOf), ['new']);
  });
}

function mixedAssignors({ requiring }: ContractSuite): void {
  const testCase = requiring('cooperative-sticky', 'sticky', 'range');

  testCase('a group becomes cooperative when its last eager member has left', async (context) => {
    const [topic, groupId] = [await context.topic(4), context.name('group')];
    const common = { topics: [topic], groupId };
    const eager = { ...common, assignors: ['sticky', 'range'] as const };
    const former = await joinTogether(context, 2, eager);
    await waitUntilShared(context, former, namesOfPartitions(topic, 4));
    const members: Member[] = [];
    for (const old of former) {
      members.push(await context.join({ ...common, driver: await context.newProcess() }));
      await waitUntilShared(
        context,
        [...members, ...former.slice(members.length - 1)],
        namesOfPartitions(topic, 4),
      );
      await old.close();
    }
    await waitUntilShared(context, members, namesOfPartitions(topic, 4));
    const { protocol } = await context.admin.describeGroup(groupId);
    assert.equal(protocol, 'cooperative-sticky');
    const before = members.map((member) => member.eventsOf('revoked').length);
    const third = await context.join({ ...common, driver: await context.newProcess() });
    await waitUntilShared(context, [...members, third], namesOfPartitions(topic, 4));
    const revoked = members.map(
      (member, index) => member.eventsOf('revoked').length - (before[index] ?? 0),
    );
    assert.equal(
      revoked.reduce((sum, count) => sum + count, 0),
      third.owned().length,
    );
    for (const member of members) assert.deepEqual(member.eventsOf('lost'), []);
  });

  testCase(
    'an eager member that joins takes the partitions of the others once',
    async (context) => {
      const [topic, groupId] = [await context.topic(4), context.name('group')];
      const common = { topics: [topic], groupId };
      const members = await joinTogether(context, 2, common);
      await waitUntilShared(context, members, namesOfPartitions(topic, 4));
      const driver = await context.newProcess();
      const late = await context.join({ ...common, assignors: ['range'], driver });
      await waitUntilShared(context, [...members, late], namesOfPartitions(topic, 4));
      const lost = members.flatMap((member) => member.eventsOf('lost'));
      assert.deepEqual(lost.sort(), namesOfPartitions(topic, 4));
      for (const member of members)
        assert.ok(member.reportedErrors().some((error) => error instanceof FencedError));
      await late.close();
      await waitUntilShared(context, members, namesOfPartitions(topic, 4));
      assert.equal(members.flatMap((member) => member.eventsOf('lost')).length, 4);
    },
  );
}

/**
 * Creates a group in which one partition is about to move; its owner does not return from onRevoked
 * until the gate opens.
 */
async function withSlowRevocation(context: CaseContext) {
  const [topic, groupId] = [await context.topic(2), context.name('group')];
  const gate = new Deferred();
  const options = { topics: [topic], groupId, assignors };
  const first = await context.join({ ...options, on: { onRevoked: () => gate.promise } });
  const second = await context.join({ ...options, driver: await context.newProcess() });
  await context.eventually('something is revoked', () => first.eventsOf('revoked').length === 1);
  return { first, second, topic, gate };
}
