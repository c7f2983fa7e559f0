import assert from 'node:assert/strict';
import type { SessionStatus } from '../../../port/consumer.js';
import {
  FencedError,
  StaticMemberInUseError,
  TopicRecreatedError,
  UnknownTopicError,
} from '../../../port/errors.js';
import { Deferred } from '../../../runtime/waiting.js';
import { readsAndCommits } from '../../reads-and-commits.js';
import { joinTogether, waitUntilShared } from '../../group.js';
import type { Member } from '../../member.js';
import { numbered } from '../../test-values.js';
import { partitionName } from '../../../port/topic-partition.js';
import { namesOfPartitions } from '../../test-values.js';
import type { ContractSuite } from '../../contract-suite.js';
import type { CaseContext } from '../../case-context.js';

const groupProtocol = 'consumer';

export function consumerProtocolContract(suite: ContractSuite): void {
  suite.section('moved partitions', () => movedPartitions(suite));
  suite.section('kept partitions', () => keptPartitions(suite));
  suite.section('static members', () => staticMembers(suite));
  suite.section('topic changes', () => topicChanges(suite));
  suite.section('lost connections', () => lostConnections(suite));
}

function movedPartitions({ testCase }: ContractSuite): void {
  testCase(
    'partitions are revoked when a member joins, and assigned when one leaves',
    async (context) => {
      const { topic, options, first, second } = await twoMembers(context, 4);
      const moved = second.owned();
      assert.deepEqual(first.eventsOf('revoked').sort(), moved);
      assert.deepEqual(first.eventsOf('assigned').sort(), namesOfPartitions(topic, 4));
      assert.deepEqual(second.eventsOf('assigned').sort(), moved);
      await second.close();
      await waitUntilShared(context, [first], namesOfPartitions(topic, 4));
      assert.deepEqual(first.eventsOf('revoked').sort(), moved);
      assert.deepEqual(first.eventsOf('lost'), []);
      const more = await joinTogether(context, 2, {
        ...options,
        driver: await context.newProcess(),
      });
      await waitUntilShared(context, [first, ...more], namesOfPartitions(topic, 4));
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
        groupProtocol,
        on: {
          onRevoked: (partitions) =>
            first.session.commit(partitions.map((each) => ({ ...each, offset: 2 }))),
        },
      });
      await first.start();
      await first.read(6);
      const driver = await context.newProcess();
      const second = await context.join({ topics: [topic], groupId, groupProtocol, driver });
      await waitUntilShared(context, [first, second], namesOfPartitions(topic, 2));
      assert.deepEqual(await second.readValues(1), ['2']);
      const [stays] = first.session.assignment();
      assert.ok(stays);
      assert.equal(first.session.position(stays), 3);
      assert.deepEqual(first.eventsOf('lost'), []);
    },
  );

  testCase(
    'a moved partition is fenced for its former owner, and the others are not',
    async (context) => {
      const [topic, groupId] = [await context.topic(2), context.name('group')];
      const options = { topics: [topic], groupId, groupProtocol } as const;
      const first = await context.join(options);
      await waitUntilShared(context, [first], namesOfPartitions(topic, 2));
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

  testCase(
    'a closing member revokes its partitions, and a commit in onRevoked succeeds',
    async (context) => {
      const [topic, groupId] = [await context.topic(), context.name('group')];
      await context.write(topic, numbered(3));
      const member: Member = context.member({
        topics: [topic],
        groupId,
        groupProtocol,
        on: {
          onRevoked: (partitions) =>
            member.session.commit(partitions.map((each) => ({ ...each, offset: 3 }))),
        },
      });
      await member.start();
      await member.read(3);
      await member.close();
      const [stored] = await context.admin.groupOffsets(groupId);
      assert.equal(stored?.offset, 3);
      const next = await context.join({ topics: [topic], groupId, groupProtocol });
      await waitUntilShared(context, [next], namesOfPartitions(topic, 1));
      assert.equal(next.assigned()[0]?.position, 3);
    },
  );
}

function keptPartitions({ testCase }: ContractSuite): void {
  testCase(
    'kept partitions are read and committed during the revocation of others',
    async (context) => {
      const gate = new Deferred();
      const { topic, first, second } = await withRevocation(context, gate);
      await readsAndCommits(context, first, topic);
      assert.deepEqual(second.owned(), []);
      gate.resolve();
      await waitUntilShared(context, [first, second], namesOfPartitions(topic, 2));
      assert.deepEqual(first.eventsOf('lost'), []);
    },
  );

  testCase(
    'kept partitions stay assigned if the revocation of others never ends',
    async (context) => {
      const gate = new Deferred();
      const { topic, first, second } = await withRevocation(context, gate);
      await waitUntilShared(context, [first, second], namesOfPartitions(topic, 2));
      assert.deepEqual(first.eventsOf('lost'), second.owned());
      await readsAndCommits(context, first, topic);
      gate.resolve();
    },
  );

  testCase('kept partitions can be committed in the next epoch', async (context) => {
    const { first, second, options } = await twoMembers(context, 4);
    const { generation } = first.session;
    const described = await context.admin.describeGroup(options.groupId);
    assert.equal(described.protocol, 'uniform');
    assert.deepEqual(
      described.members.map(({ memberId }) => memberId).sort(),
      [first.session.memberId, second.session.memberId].sort(),
    );
    const [stays] = first.session.assignment();
    assert.ok(stays);
    const third = context.member({ ...options, driver: await context.newProcess() });
    const joining = third.start();
    for (let offset = 0; offset < 50; offset++) {
      const commit = first.session.commit([{ ...stays, offset }]);
      const failure = await context.within(context.failureOf(commit), 'the commit');
      if (failure === undefined) continue;
      assert.ok(failure instanceof FencedError && !first.owned().includes(partitionName(stays)));
      break;
    }
    await joining;
    assert.ok(first.session.generation >= generation);
    assert.deepEqual(first.eventsOf('lost'), []);
  });
}

function staticMembers({ testCase }: ContractSuite): void {
  const groupInstanceId = 'instance';

  testCase(
    'a static member that restarts in time gets its partitions, without a rebalance',
    async (context) => {
      const {
        topic,
        options,
        first: staying,
        second: leaving,
      } = await twoMembers(context, 4, {
        groupInstanceId,
      });
      const had = leaving.owned();
      await leaving.close();
      const noticed = () => [staying.events.length, staying.statuses.filter(isJoining).length];
      const before = noticed();
      const back = await context.join({
        ...options,
        groupInstanceId,
        driver: await context.newProcess(),
      });
      await context.eventually('it has what it had', () => back.owned().length === had.length);
      assert.deepEqual(back.owned(), had);
      assert.deepEqual(noticed(), before);
      await waitUntilShared(context, [staying, back], namesOfPartitions(topic, 4));
    },
  );

  testCase(
    'a second session with the same instance id waits, and reports why, until the first is gone',
    async (context) => {
      const [topic, groupId] = [await context.topic(2), context.name('group')];
      const options = { topics: [topic], groupId, groupProtocol, groupInstanceId } as const;
      const first = await context.join(options);
      const second = context.member({ ...options, driver: await context.newProcess() });
      const starting = second.start();
      await context.eventually('it says why it waits', () =>
        second.reportedErrors().some((error) => error instanceof StaticMemberInUseError),
      );
      await context.staysPending(starting, 'The start of the second');
      assert.ok(first.isStable());
      assert.deepEqual(first.eventsOf('lost'), []);
      await first.close();
      await starting;
      await waitUntilShared(context, [second], namesOfPartitions(topic, 2));
    },
  );

  testCase(
    'a static member that does not restart is removed after its session timeout',
    async (context) => {
      const { topic, first, second } = await twoMembers(context, 4, { groupInstanceId });
      await second.close();
      await waitUntilShared(context, [first], namesOfPartitions(topic, 4));
    },
  );
}

function topicChanges({ testCase }: ContractSuite): void {
  testCase('a missing topic is reported, and read once it is created', async (context) => {
    const topic = context.name('created-later');
    const member = context.member({ topics: [topic], groupProtocol });
    const starting = member.start();
    await context.eventually('it reports the topic', () =>
      member.reportedErrors().some((error) => error instanceof UnknownTopicError),
    );
    await context.admin.createTopics([{ name: topic, partitions: 1 }]);
    await starting;
    await context.write(topic, ['here']);
    assert.deepEqual(await member.readValues(1), ['here']);
    assert.equal(member.session.status.state, 'stable');
  });

  testCase('added partitions are assigned', async (context) => {
    const { topic, first, second } = await twoMembers(context, 2);
    await context.admin.createPartitions(topic, 4);
    await waitUntilShared(context, [first, second], namesOfPartitions(topic, 4));
  });

  testCase('a recreated topic is never continued at the old offset', async (context) => {
    const topic = await context.topic();
    await context.write(topic, numbered(5));
    const member = context.member({
      topics: [topic],
      groupProtocol,
      on: {
        onStopped: (error) => {
          if (error instanceof TopicRecreatedError) member.session.seek(error, 0);
        },
      },
    });
    await member.start();
    await member.read(5);
    await context.admin.deleteTopics([topic]);
    await context.eventually(
      'its successor is created',
      async () => (await context.admin.createTopics([{ name: topic }]))[0]?.changed === true,
    );
    const successors = numbered(10).map((value) => `new ${value}`);
    await context.write(topic, successors);
    assert.deepEqual(await member.readValues(10), successors);
  });
}

function lostConnections({ requiring }: ContractSuite): void {
  requiring('unplug')(
    'a member loses its partitions by its own clock, and joins again',
    async (context) => {
      const [topic, groupId] = [await context.topic(2), context.name('group')];
      const driver = await context.newProcess();
      const cut = await context.join({ topics: [topic], groupId, groupProtocol, driver });
      const { memberId } = cut.session;
      const reconnect = await context.ability('unplug')(driver);
      await context.eventually('onLost is called twice', () => cut.eventsOf('lost').length === 2);
      const other = await context.join({ topics: [topic], groupId, groupProtocol });
      await waitUntilShared(context, [other], namesOfPartitions(topic, 2));
      await reconnect();
      await waitUntilShared(context, [cut, other], namesOfPartitions(topic, 2));
      assert.notEqual(cut.session.memberId, memberId);
      assert.deepEqual(other.eventsOf('lost'), []);
    },
  );
}

async function twoMembers(
  context: CaseContext,
  partitions: number,
  ofSecond: { readonly groupInstanceId?: string } = {},
) {
  const [topic, groupId] = [await context.topic(partitions), context.name('group')];
  const options = { topics: [topic], groupId, groupProtocol } as const;
  const first = await context.join(options);
  // A coordinator that does not know the topic yet assigns none of it at first.
  await waitUntilShared(context, [first], namesOfPartitions(topic, partitions));
  const second = await context.join({
    ...options,
    ...ofSecond,
    driver: await context.newProcess(),
  });
  await waitUntilShared(context, [first, second], namesOfPartitions(topic, partitions));
  return { topic, options, first, second };
}

/**
 * Creates a group in which one partition is about to move; its owner does not return from onRevoked
 * until the gate opens.
 */
async function withRevocation(context: CaseContext, gate: Deferred) {
  const [topic, groupId] = [await context.topic(2), context.name('group')];
  const options = { topics: [topic], groupId, groupProtocol } as const;
  const first = await context.join({ ...options, on: { onRevoked: () => gate.promise } });
  await waitUntilShared(context, [first], namesOfPartitions(topic, 2));
  const second = await context.join({ ...options, driver: await context.newProcess() });
  await context.eventually('something is revoked', () => first.eventsOf('revoked').length === 1);
  return { topic, first, second };
}

const isJoining = ({ state }: SessionStatus): boolean => state === 'joining';
