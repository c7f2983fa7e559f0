import assert from 'node:assert/strict';
import { BrokerError } from '../../../port/errors.js';
import { joinTogether, waitUntilShared } from '../../group.js';
import { numbered } from '../../test-values.js';
import { partitionName } from '../../../port/topic-partition.js';
import { namesOfPartitions } from '../../test-values.js';
import type { ContractSuite } from '../../contract-suite.js';
import type { CaseContext } from '../../case-context.js';

export function adminGroupsContract(suite: ContractSuite): void {
  describing(suite);
  changing(suite);
}

function describing({ testCase }: ContractSuite): void {
  testCase('listGroups lists groups with and without members', async (context) => {
    const { groupId } = await joined(context);
    const empty = context.name('group');
    await context.admin.setGroupOffsets(empty, [
      { topic: await context.topic(), partition: 0, offset: 0 },
    ]);
    const groups = await context.admin.groups();
    const joinedGroup = groups.find((group) => group.groupId === groupId);
    assert.equal(joinedGroup?.protocolType, 'consumer');
    assert.ok(groups.some((group) => group.groupId === empty));
  });

  testCase(
    'describeGroup returns the members of a stable group and their assignments',
    async (context) => {
      const [topic, groupId] = [await context.topic(3), context.name('group')];
      const options = { topics: [topic], groupId, assignors: ['range'] as const };
      const members = await joinTogether(context, 2, options);
      await waitUntilShared(context, members, namesOfPartitions(topic, 3));
      const group = await context.admin.describeGroup(groupId);
      assert.deepEqual([group.groupId, group.state, group.protocol], [groupId, 'Stable', 'range']);
      const shares = group.members.map((each) => [
        each.memberId,
        each.assignment.map(partitionName).sort().join(),
      ]);
      const expected = members.map((each) => [each.session.memberId, each.owned().join()]);
      assert.deepEqual(Object.fromEntries(shares), Object.fromEntries(expected));
      for (const { clientId, host } of group.members) assert.ok(clientId !== '' && host !== '');
    },
  );

  for (const groupProtocol of ['classic', 'consumer'] as const)
    testCase(
      `describeGroup returns the client id of a session, with the ${groupProtocol} protocol`,
      async (context) => {
        const [topic, groupId] = [await context.topic(1), context.name('group')];
        const options = { topics: [topic], groupId, groupProtocol, clientId: 'orders-reader' };
        const members = await joinTogether(context, 1, options);
        await waitUntilShared(context, members, namesOfPartitions(topic, 1));
        const group = await context.admin.describeGroup(groupId);
        assert.deepEqual(
          group.members.map(({ clientId }) => clientId),
          ['orders-reader'],
        );
      },
    );

  testCase('describeGroup returns an empty group after all members have left', async (context) => {
    const { member, groupId, topic } = await joined(context);
    await member.session.commit([{ topic, partition: 0, offset: 1 }]);
    await member.close();
    const { state, members } = await context.admin.describeGroup(groupId);
    assert.deepEqual([state, members], ['Empty', []]);
  });

  testCase('describeGroup returns state Dead for a group that does not exist', async (context) => {
    const { state, members } = await context.admin.describeGroup(context.name('nobody'));
    assert.deepEqual([state, members], ['Dead', []]);
  });

  testCase(
    'groupOffsets returns all offsets of a group, or those of the named topics',
    async (context) => {
      const [one, other, groupId] = [
        await context.topic(2),
        await context.topic(),
        context.name('group'),
      ];
      await context.admin.setGroupOffsets(groupId, [
        { topic: one, partition: 1, offset: 7, metadata: 'note' },
        { topic: other, partition: 0, offset: 8 },
      ]);
      const all = await context.admin.groupOffsets(groupId);
      assert.deepEqual(all.map(partitionName).sort(), [`${one}-1`, `${other}-0`].sort());
      const [named, ...rest] = await context.admin.groupOffsets(groupId, [one]);
      assert.deepEqual([named?.offset, named?.metadata, rest], [7, 'note', []]);
    },
  );

  testCase('groupOffsets returns no offsets of a group that does not exist', async (context) => {
    assert.deepEqual(await context.admin.groupOffsets(context.name('nobody')), []);
  });
}

function changing({ testCase }: ContractSuite): void {
  testCase(
    'setGroupOffsets also sets lower offsets, and the next member starts at them',
    async (context) => {
      const [topic, groupId] = [await context.topic(), context.name('group')];
      await context.write(topic, numbered(10));
      for (const offset of [8, 6])
        await context.admin.setGroupOffsets(groupId, [{ topic, partition: 0, offset }]);
      const member = await context.join({ topics: [topic], groupId });
      assert.deepEqual(await member.readValues(4), numbered(4, 6));
    },
  );

  testCase('setGroupOffsets is refused while the group has members', async (context) => {
    const { member, topic, groupId } = await joined(context);
    await member.session.commit([{ topic, partition: 0, offset: 3 }]);
    const setting = context.admin.setGroupOffsets(groupId, [{ topic, partition: 0, offset: 0 }]);
    await context.rejects(setting, BrokerError);
    assert.equal((await context.admin.groupOffsets(groupId))[0]?.offset, 3);
  });

  testCase('deleteGroupOffsets deletes the offsets of single partitions', async (context) => {
    const [topic, groupId] = [await context.topic(2), context.name('group')];
    const partitions = [0, 1].map((partition) => ({ topic, partition }));
    await context.admin.setGroupOffsets(
      groupId,
      partitions.map((each) => ({ ...each, offset: 4 })),
    );
    await context.admin.deleteGroupOffsets(groupId, partitions.slice(0, 1));
    assert.deepEqual((await context.admin.groupOffsets(groupId)).map(partitionName), [
      `${topic}-1`,
    ]);
  });

  testCase('deleteGroupOffsets is refused for a topic that members read', async (context) => {
    const { member, topic, groupId } = await joined(context);
    await member.session.commit([{ topic, partition: 0, offset: 3 }]);
    const deleting = context.admin.deleteGroupOffsets(groupId, [{ topic, partition: 0 }]);
    await context.rejects(deleting, BrokerError);
    assert.equal((await context.admin.groupOffsets(groupId))[0]?.offset, 3);
  });

  testCase(
    'deleteGroups deletes a group without members, and reports that it does not exist the second time',
    async (context) => {
      const [topic, groupId] = [await context.topic(), context.name('group')];
      await context.admin.setGroupOffsets(groupId, [{ topic, partition: 0, offset: 4 }]);
      assert.equal(await context.admin.deleteGroup(groupId), true);
      assert.equal(await context.admin.deleteGroup(groupId), false);
      assert.deepEqual(await context.admin.groupOffsets(groupId), []);
    },
  );

  testCase('deleteGroups is refused for a group that has members', async (context) => {
    const { member, groupId } = await joined(context);
    await context.rejects(context.admin.deleteGroup(groupId), BrokerError);
    assert.ok(member.isStable());
  });
}

async function joined(context: CaseContext) {
  const [topic, groupId] = [await context.topic(), context.name('group')];
  return { topic, groupId, member: await context.join({ topics: [topic], groupId }) };
}
