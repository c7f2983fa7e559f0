import assert from 'node:assert/strict';
import type { SessionStatus } from '../../port/consumer.js';
import {
  FencedError,
  StaticMemberInUseError,
  TopicRecreatedError,
  UnknownTopicError,
} from '../../port/errors.js';
import { Deferred } from '../../runtime/waiting.js';
import { readsAndCommits } from '../going-on.js';
import { joinTogether, sharedOut } from '../group.js';
import type { Member } from '../member.js';
import { numbered } from '../numbered.js';
import { nameOf, namesOf } from '../partition-name.js';
import type { ContractSuite } from '../suite.js';
import type { World } from '../world.js';

const groupProtocol = 'consumer';

export function consumerProtocolContract(suite: ContractSuite): void {
  suite.chapter('what moves', () => whatMoves(suite));
  suite.chapter('what stays', () => whatStays(suite));
  suite.chapter('a static member', () => staticMember(suite));
  suite.chapter('topics', () => topicsThatChange(suite));
  suite.chapter('a member that is cut off', () => cutOff(suite));
}

function whatMoves({ promise }: ContractSuite): void {
  promise('is revoked when one joins, and assigned when one leaves', async (world) => {
    const { topic, options, first, second } = await twoMembers(world, 4);
    const moved = second.owned();
    assert.deepEqual(first.told('revoked').sort(), moved);
    assert.deepEqual(first.told('assigned').sort(), namesOf(topic, 4));
    assert.deepEqual(second.told('assigned').sort(), moved);
    await second.close();
    await sharedOut(world, [first], namesOf(topic, 4));
    assert.deepEqual(first.told('revoked').sort(), moved);
    assert.deepEqual(first.told('lost'), []);
    const more = await joinTogether(world, 2, { ...options, driver: await world.process() });
    await sharedOut(world, [first, ...more], namesOf(topic, 4));
  });

  promise('is committed in onRevoked, and its next owner starts there', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    for (const partition of [0, 1]) await world.write(topic, numbered(3), partition);
    const first: Member = world.member({
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
    const driver = await world.process();
    const second = await world.join({ topics: [topic], groupId, groupProtocol, driver });
    await sharedOut(world, [first, second], namesOf(topic, 2));
    assert.deepEqual(await second.readValues(1), ['2']);
    const [stays] = first.session.assignment();
    assert.ok(stays);
    assert.equal(first.session.position(stays), 3);
    assert.deepEqual(first.told('lost'), []);
  });

  promise('is fenced for its former owner, and the rest is not', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    const options = { topics: [topic], groupId, groupProtocol } as const;
    const first = await world.join(options);
    await sharedOut(world, [first], namesOf(topic, 2));
    const all = first.session.assignment().map((each) => ({ ...each, offset: 0 }));
    const second = await world.join({ ...options, driver: await world.process() });
    await sharedOut(world, [first, second], namesOf(topic, 2));
    const error = await world.rejects(first.session.commit(all), FencedError);
    assert.deepEqual(error.partitions.map(nameOf), second.owned());
    assert.deepEqual((await world.admin.groupOffsets(groupId)).map(nameOf), first.owned());
  });

  promise('is handed back when a member closes: a commit in it counts', async (world) => {
    const [topic, groupId] = [await world.topic(), world.name('group')];
    await world.write(topic, numbered(3));
    const member: Member = world.member({
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
    const [stored] = await world.admin.groupOffsets(groupId);
    assert.equal(stored?.offset, 3);
    const next = await world.join({ topics: [topic], groupId, groupProtocol });
    await sharedOut(world, [next], namesOf(topic, 1));
    assert.equal(next.assigned()[0]?.position, 3);
  });
}

function whatStays({ promise }: ContractSuite): void {
  promise('is read and committed while what moves is handed back', async (world) => {
    const gate = new Deferred();
    const { topic, first, second } = await withRevocation(world, gate);
    await readsAndCommits(world, first, topic);
    assert.deepEqual(second.owned(), []);
    gate.resolve();
    await sharedOut(world, [first, second], namesOf(topic, 2));
    assert.deepEqual(first.told('lost'), []);
  });

  promise('is all that stays where a revocation never ends', async (world) => {
    const gate = new Deferred();
    const { topic, first, second } = await withRevocation(world, gate);
    await sharedOut(world, [first, second], namesOf(topic, 2));
    assert.deepEqual(first.told('lost'), second.owned());
    await readsAndCommits(world, first, topic);
    gate.resolve();
  });

  promise('is committed with the next epoch when the group has gone on', async (world) => {
    const { first, second, options } = await twoMembers(world, 4);
    const { generation } = first.session;
    const described = await world.admin.describeGroup(options.groupId);
    assert.equal(described.protocol, 'uniform');
    assert.deepEqual(
      described.members.map(({ memberId }) => memberId).sort(),
      [first.session.memberId, second.session.memberId].sort(),
    );
    const [stays] = first.session.assignment();
    assert.ok(stays);
    const third = world.member({ ...options, driver: await world.process() });
    const joining = third.start();
    for (let offset = 0; offset < 50; offset++) {
      const commit = first.session.commit([{ ...stays, offset }]);
      const failure = await world.within(world.failureOf(commit), 'the commit');
      if (failure === undefined) continue;
      assert.ok(failure instanceof FencedError && !first.owned().includes(nameOf(stays)));
      break;
    }
    await joining;
    assert.ok(first.session.generation >= generation);
    assert.deepEqual(first.told('lost'), []);
  });
}

function staticMember({ promise }: ContractSuite): void {
  const groupInstanceId = 'instance';

  promise('that comes back in time gets what it had, and nobody else notices', async (world) => {
    const {
      topic,
      options,
      first: staying,
      second: leaving,
    } = await twoMembers(world, 4, {
      groupInstanceId,
    });
    const had = leaving.owned();
    await leaving.close();
    const noticed = () => [staying.events.length, staying.statuses.filter(isJoining).length];
    const before = noticed();
    const back = await world.join({ ...options, groupInstanceId, driver: await world.process() });
    await world.eventually('it has what it had', () => back.owned().length === had.length);
    assert.deepEqual(back.owned(), had);
    assert.deepEqual(noticed(), before);
    await sharedOut(world, [staying, back], namesOf(topic, 4));
  });

  promise('keeps its id: a second one waits, by name, until it has gone', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    const options = { topics: [topic], groupId, groupProtocol, groupInstanceId } as const;
    const first = await world.join(options);
    const second = world.member({ ...options, driver: await world.process() });
    const starting = second.start();
    await world.eventually('it says why it waits', () =>
      second.reported().some((error) => error instanceof StaticMemberInUseError),
    );
    await world.staysPending(starting, 'The start of the second');
    assert.ok(first.isStable());
    assert.deepEqual(first.told('lost'), []);
    await first.close();
    await starting;
    await sharedOut(world, [second], namesOf(topic, 2));
  });

  promise(
    'that does not come back is waited for only as long as its session lasts',
    async (world) => {
      const { topic, first, second } = await twoMembers(world, 4, { groupInstanceId });
      await second.close();
      await sharedOut(world, [first], namesOf(topic, 4));
    },
  );
}

function topicsThatChange({ promise }: ContractSuite): void {
  promise('a missing one is named, and read once it is created', async (world) => {
    const topic = world.name('created-later');
    const member = world.member({ topics: [topic], groupProtocol });
    const starting = member.start();
    await world.eventually('it reports the topic', () =>
      member.reported().some((error) => error instanceof UnknownTopicError),
    );
    await world.admin.createTopics([{ name: topic, partitions: 1 }]);
    await starting;
    await world.write(topic, ['here']);
    assert.deepEqual(await member.readValues(1), ['here']);
    assert.equal(member.session.status.state, 'stable');
  });

  promise('partitions that are added are shared out', async (world) => {
    const { topic, first, second } = await twoMembers(world, 2);
    await world.admin.createPartitions(topic, 4);
    await sharedOut(world, [first, second], namesOf(topic, 4));
  });

  promise('a successor of the same name is never read on from the middle', async (world) => {
    const topic = await world.topic();
    await world.write(topic, numbered(5));
    const member = world.member({
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
    await world.admin.deleteTopics([topic]);
    await world.eventually(
      'its successor is created',
      async () => (await world.admin.createTopics([{ name: topic }]))[0]?.changed === true,
    );
    const successors = numbered(10).map((value) => `new ${value}`);
    await world.write(topic, successors);
    assert.deepEqual(await member.readValues(10), successors);
  });
}

function cutOff({ needing }: ContractSuite): void {
  needing('unplug')('loses what it has by its own clock, and comes back', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    const driver = await world.process();
    const cut = await world.join({ topics: [topic], groupId, groupProtocol, driver });
    const { memberId } = cut.session;
    const plugIn = await world.ability('unplug')(driver);
    await world.eventually('it is told', () => cut.told('lost').length === 2);
    const other = await world.join({ topics: [topic], groupId, groupProtocol });
    await sharedOut(world, [other], namesOf(topic, 2));
    await plugIn();
    await sharedOut(world, [cut, other], namesOf(topic, 2));
    assert.notEqual(cut.session.memberId, memberId);
    assert.deepEqual(other.told('lost'), []);
  });
}

async function twoMembers(
  world: World,
  partitions: number,
  ofSecond: { readonly groupInstanceId?: string } = {},
) {
  const [topic, groupId] = [await world.topic(partitions), world.name('group')];
  const options = { topics: [topic], groupId, groupProtocol } as const;
  const first = await world.join(options);
  // A coordinator that has yet to hear of the topic gives nothing of it at first.
  await sharedOut(world, [first], namesOf(topic, partitions));
  const second = await world.join({ ...options, ...ofSecond, driver: await world.process() });
  await sharedOut(world, [first, second], namesOf(topic, partitions));
  return { topic, options, first, second };
}

/** A group in which one partition is about to move, and its owner does not let go until the gate opens. */
async function withRevocation(world: World, gate: Deferred) {
  const [topic, groupId] = [await world.topic(2), world.name('group')];
  const options = { topics: [topic], groupId, groupProtocol } as const;
  const first = await world.join({ ...options, on: { onRevoked: () => gate.promise } });
  await sharedOut(world, [first], namesOf(topic, 2));
  const second = await world.join({ ...options, driver: await world.process() });
  await world.eventually('something is revoked', () => first.told('revoked').length === 1);
  return { topic, first, second };
}

const isJoining = ({ state }: SessionStatus): boolean => state === 'joining';
