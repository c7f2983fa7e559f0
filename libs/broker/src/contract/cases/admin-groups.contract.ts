import assert from 'node:assert/strict';
import { BrokerError } from '../../port/errors.js';
import { joinTogether, sharedOut } from '../group.js';
import { numbered } from '../numbered.js';
import { nameOf, namesOf } from '../partition-name.js';
import type { ContractSuite } from '../suite.js';
import type { World } from '../world.js';

export function adminGroupsContract(suite: ContractSuite): void {
  describing(suite);
  changing(suite);
}

function describing({ promise }: ContractSuite): void {
  promise('lists groups, with and without members', async (world) => {
    const { groupId } = await joined(world);
    const empty = world.name('group');
    await world.admin.setGroupOffsets(empty, [
      { topic: await world.topic(), partition: 0, offset: 0 },
    ]);
    const groups = await world.admin.groups();
    const joinedGroup = groups.find((group) => group.groupId === groupId);
    assert.equal(joinedGroup?.protocolType, 'consumer');
    assert.ok(groups.some((group) => group.groupId === empty));
  });

  promise('describes a stable group with its members and their shares', async (world) => {
    const [topic, groupId] = [await world.topic(3), world.name('group')];
    const options = { topics: [topic], groupId, assignors: ['range'] as const };
    const members = await joinTogether(world, 2, options);
    await sharedOut(world, members, namesOf(topic, 3));
    const group = await world.admin.describeGroup(groupId);
    assert.deepEqual([group.groupId, group.state, group.protocol], [groupId, 'Stable', 'range']);
    const shares = group.members.map((each) => [
      each.memberId,
      each.assignment.map(nameOf).sort().join(),
    ]);
    const expected = members.map((each) => [each.session.memberId, each.owned().join()]);
    assert.deepEqual(Object.fromEntries(shares), Object.fromEntries(expected));
    for (const { clientId, host } of group.members) assert.ok(clientId !== '' && host !== '');
  });

  promise('describes a group that everybody has left', async (world) => {
    const { member, groupId, topic } = await joined(world);
    await member.session.commit([{ topic, partition: 0, offset: 1 }]);
    await member.close();
    const { state, members } = await world.admin.describeGroup(groupId);
    assert.deepEqual([state, members], ['Empty', []]);
  });

  promise('describes a group that does not exist as Dead', async (world) => {
    const { state, members } = await world.admin.describeGroup(world.name('nobody'));
    assert.deepEqual([state, members], ['Dead', []]);
  });

  promise("reads a group's offsets: all, or those of the topics named", async (world) => {
    const [one, other, groupId] = [await world.topic(2), await world.topic(), world.name('group')];
    await world.admin.setGroupOffsets(groupId, [
      { topic: one, partition: 1, offset: 7, metadata: 'note' },
      { topic: other, partition: 0, offset: 8 },
    ]);
    const all = await world.admin.groupOffsets(groupId);
    assert.deepEqual(all.map(nameOf).sort(), [`${one}-1`, `${other}-0`].sort());
    const [named, ...rest] = await world.admin.groupOffsets(groupId, [one]);
    assert.deepEqual([named?.offset, named?.metadata, rest], [7, 'note', []]);
  });

  promise('reads no offsets of a group that does not exist', async (world) => {
    assert.deepEqual(await world.admin.groupOffsets(world.name('nobody')), []);
  });
}

function changing({ promise }: ContractSuite): void {
  promise('sets offsets, also backwards, where the next member starts', async (world) => {
    const [topic, groupId] = [await world.topic(), world.name('group')];
    await world.write(topic, numbered(10));
    for (const offset of [8, 6])
      await world.admin.setGroupOffsets(groupId, [{ topic, partition: 0, offset }]);
    const member = await world.join({ topics: [topic], groupId });
    assert.deepEqual(await member.readValues(4), numbered(4, 6));
  });

  promise('refuses to set offsets under the feet of members', async (world) => {
    const { member, topic, groupId } = await joined(world);
    await member.session.commit([{ topic, partition: 0, offset: 3 }]);
    const setting = world.admin.setGroupOffsets(groupId, [{ topic, partition: 0, offset: 0 }]);
    await world.rejects(setting, BrokerError);
    assert.equal((await world.admin.groupOffsets(groupId))[0]?.offset, 3);
  });

  promise('deletes offsets of single partitions', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    const partitions = [0, 1].map((partition) => ({ topic, partition }));
    await world.admin.setGroupOffsets(
      groupId,
      partitions.map((each) => ({ ...each, offset: 4 })),
    );
    await world.admin.deleteGroupOffsets(groupId, partitions.slice(0, 1));
    assert.deepEqual((await world.admin.groupOffsets(groupId)).map(nameOf), [`${topic}-1`]);
  });

  promise('refuses to delete offsets of a topic that members read', async (world) => {
    const { member, topic, groupId } = await joined(world);
    await member.session.commit([{ topic, partition: 0, offset: 3 }]);
    const deleting = world.admin.deleteGroupOffsets(groupId, [{ topic, partition: 0 }]);
    await world.rejects(deleting, BrokerError);
    assert.equal((await world.admin.groupOffsets(groupId))[0]?.offset, 3);
  });

  promise('deletes a group without members, once', async (world) => {
    const [topic, groupId] = [await world.topic(), world.name('group')];
    await world.admin.setGroupOffsets(groupId, [{ topic, partition: 0, offset: 4 }]);
    assert.equal(await world.admin.deleteGroup(groupId), true);
    assert.equal(await world.admin.deleteGroup(groupId), false);
    assert.deepEqual(await world.admin.groupOffsets(groupId), []);
  });

  promise('refuses to delete a group that has members', async (world) => {
    const { member, groupId } = await joined(world);
    await world.rejects(world.admin.deleteGroup(groupId), BrokerError);
    assert.ok(member.isStable());
  });
}

async function joined(world: World) {
  const [topic, groupId] = [await world.topic(), world.name('group')];
  return { topic, groupId, member: await world.join({ topics: [topic], groupId }) };
}
