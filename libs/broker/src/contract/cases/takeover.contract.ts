import assert from 'node:assert/strict';
import { FencedError } from '../../port/errors.js';
import { sharedOut } from '../group.js';
import { numbered } from '../numbered.js';
import { nameOf, namesOf } from '../partition-name.js';
import type { ContractSuite } from '../suite.js';
import type { World } from '../world.js';

export function takeoverContract({ needing }: ContractSuite): void {
  needing('unplug')('a dead member is replaced after the session time-out', async (world) => {
    const { members, topic } = await twoMembers(world);
    const [dying, survivor] = members;
    await world.ability('unplug')(dying.driver);
    await sharedOut(world, [survivor.member], namesOf(topic, 2));
  });

  needing('unplug')('a member without its group gives up by itself', async (world) => {
    const { members, topic } = await twoMembers(world);
    const [cutOff] = members;
    const owned = cutOff.member.session.assignment();
    await world.ability('unplug')(cutOff.driver);
    await world.eventually('it knows of the loss', () => cutOff.member.told('lost').length === 1);
    const commit = cutOff.member.session.commit(owned.map((each) => ({ ...each, offset: 0 })));
    const error = await world.rejects(commit, FencedError);
    assert.deepEqual(error.partitions.map(nameOf), owned.map(nameOf));
    assert.equal(topic, owned[0]?.topic);
  });

  needing('unplug')('a member that comes back from the dead joins anew', async (world) => {
    const { members, topic } = await twoMembers(world);
    const [zombie, survivor] = members;
    const { memberId } = zombie.member.session;
    const plugIn = await world.ability('unplug')(zombie.driver);
    await sharedOut(world, [survivor.member], namesOf(topic, 2));
    await plugIn();
    await sharedOut(world, [zombie.member, survivor.member], namesOf(topic, 2));
    assert.notEqual(zombie.member.session.memberId, memberId);
    assert.equal(zombie.member.told('lost').length, 1);
  });

  needing('expelMember')('an expelled member is fenced, is told, and joins anew', async (world) => {
    const [topic, groupId] = [await world.topic(), world.name('group')];
    await world.write(topic, numbered(5));
    const member = await world.join({ topics: [topic], groupId });
    await member.read(4);
    await member.session.commit([{ topic, partition: 0, offset: 2 }]);
    await world.ability('expelMember')(groupId, member.session.memberId);
    const commit = member.session.commit([{ topic, partition: 0, offset: 4 }]);
    await world.rejects(commit, FencedError);
    await world.eventually('the loss is told', () => member.told('lost').length === 1);
    await world.eventually('it owns it again', () => member.told('assigned').length === 2);
    assert.deepEqual(await member.readValues(3), ['2', '3', '4']);
    assert.deepEqual(member.told('revoked'), []);
  });
}

async function twoMembers(world: World) {
  const [topic, groupId] = [await world.topic(2), world.name('group')];
  const [mine, driver] = [await world.process(), await world.process()];
  const [first, second] = await Promise.all(
    [mine, driver].map(async (each) => ({
      driver: each,
      member: await world.join({ topics: [topic], groupId, driver: each }),
    })),
  );
  assert.ok(first && second);
  await sharedOut(world, [first.member, second.member], namesOf(topic, 2));
  return { topic, groupId, members: [first, second] as const };
}
