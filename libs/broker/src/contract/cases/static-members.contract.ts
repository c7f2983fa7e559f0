import assert from 'node:assert/strict';
import { FencedError, StaticMemberFencedError } from '../../port/errors.js';
import { sharedOut } from '../group.js';
import type { Member } from '../member.js';
import { numbered } from '../numbered.js';
import { namesOf } from '../partition-name.js';
import type { ContractSuite } from '../suite.js';
import type { World } from '../world.js';

export function staticMembersContract(suite: ContractSuite): void {
  suite.chapter('that come back', () => comingBack(suite));
  suite.chapter('twice', () => twice(suite));
}

function comingBack({ promise }: ContractSuite): void {
  for (const [which, index] of [
    ['the first', 0],
    ['the second', 1],
  ] as const)
    promise(`in time get what they had, and nobody else notices: ${which}`, async (world) => {
      const { topic, members, options } = await twoMembers(world);
      const [leaving, staying] = [members[index], members[1 - index]];
      assert.ok(leaving && staying);
      const [had, generation] = [leaving.owned(), leaving.session.generation];
      const before = leaving.told('revoked').length;
      await leaving.close();
      assert.deepEqual(leaving.told('revoked').slice(before).sort(), had);
      const told = [staying.events.length, staying.statuses.length];
      const back = await world.join({ ...options(index), driver: await world.process() });
      await world.eventually('it has what it had', () => back.owned().length === had.length);
      await world.work(world.times.heartbeatIntervalMs * 3);
      assert.deepEqual(back.owned(), had);
      assert.equal(back.session.generation, generation);
      assert.notEqual(back.session.memberId, leaving.session.memberId);
      assert.deepEqual([staying.events.length, staying.statuses.length], told);
      await sharedOut(world, [staying, back], namesOf(topic, 4));
    });

  promise('go on from what was committed, and can commit', async (world) => {
    const { topic, members, options } = await twoMembers(world);
    const [leaving] = members;
    const [kept] = leaving?.session.assignment() ?? [];
    assert.ok(leaving && kept);
    await world.write(topic, numbered(5), kept.partition);
    await leaving.read(5);
    await leaving.session.commit([{ ...kept, offset: 3 }]);
    await leaving.close();
    const back = await world.join(options(0));
    assert.deepEqual(await back.readValues(2), ['3', '4']);
    await back.session.commit([{ ...kept, offset: 5 }]);
    const [stored] = await back.session.committed([kept]);
    assert.equal(stored?.offset, 5);
  });

  promise('are waited for only as long as their session lasts', async (world) => {
    const sessionTimeoutMs = world.times.sessionTimeoutMs;
    const { topic, groupId, members } = await twoMembers(world, { sessionTimeoutMs });
    const [leaving, staying] = members;
    assert.ok(leaving && staying);
    await leaving.close();
    assert.equal((await world.admin.describeGroup(groupId)).members.length, 2);
    await sharedOut(world, [staying], namesOf(topic, 4));
  });

  promise('stay in a group that others join and leave', async (world) => {
    const { topic, groupId, members } = await twoMembers(world);
    const driver = await world.process();
    const guest = await world.join({ topics: [topic], groupId, driver });
    await sharedOut(world, [...members, guest], namesOf(topic, 4));
    await guest.close();
    await sharedOut(world, members, namesOf(topic, 4));
  });
}

function twice({ promise }: ContractSuite): void {
  promise('the second takes over, and the first fails by name', async (world) => {
    const { topic, members, options } = await twoMembers(world);
    const [first, staying] = members;
    assert.ok(first && staying);
    const [had, before] = [first.owned(), first.told('revoked').length];
    const poll = world.rejects(first.session.poll(1), StaticMemberFencedError);
    const second = await world.join({ ...options(0), driver: await world.process() });
    await world.eventually('the first fails', () => first.session.status.state === 'failed');
    const { status } = first.session;
    assert.ok(status.state === 'failed' && status.error instanceof StaticMemberFencedError);
    await poll;
    assert.deepEqual(first.told('lost').sort(), had);
    assert.equal(first.told('revoked').length, before);
    await sharedOut(world, [second, staying], namesOf(topic, 4));
    await world.work(world.times.heartbeatIntervalMs * 3);
    assert.ok(second.isStable());
    await first.close();
  });

  promise('a commit of the first is fenced, and tells it', async (world) => {
    const { members, options } = await twoMembers(world);
    const [first] = members;
    const [kept] = first?.session.assignment() ?? [];
    assert.ok(first && kept);
    await world.join({ ...options(0), driver: await world.process() });
    await world.rejects(first.session.commit([{ ...kept, offset: 0 }]), FencedError);
    await world.eventually('the first fails', () => first.session.status.state === 'failed');
  });
}

async function twoMembers(
  world: World,
  { sessionTimeoutMs = world.times.sessionTimeoutMs * 5 } = {},
) {
  const [topic, groupId] = [await world.topic(4), world.name('group')];
  const options = (index: number) => ({
    topics: [topic],
    groupId,
    groupInstanceId: `instance-${index}`,
    sessionTimeoutMs,
  });
  const members: Member[] = [];
  for (const index of [0, 1]) {
    const driver = await world.process();
    members.push(await world.join({ ...options(index), driver }));
  }
  await sharedOut(world, members, namesOf(topic, 4));
  return { topic, groupId, members, options };
}
