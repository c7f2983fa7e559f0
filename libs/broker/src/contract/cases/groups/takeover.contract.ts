import assert from 'node:assert/strict';
import { FencedError } from '../../../port/errors.js';
import { waitUntilShared } from '../../group.js';
import { numbered } from '../../test-values.js';
import { partitionName } from '../../../port/topic-partition.js';
import { namesOfPartitions } from '../../test-values.js';
import type { ContractSuite } from '../../contract-suite.js';
import type { CaseContext } from '../../case-context.js';

export function takeoverContract({ requiring }: ContractSuite): void {
  requiring('unplug')(
    'the partitions of a dead member are reassigned after the session timeout',
    async (context) => {
      const { members, topic } = await twoMembers(context);
      const [dying, survivor] = members;
      await context.ability('unplug')(dying.driver);
      await waitUntilShared(context, [survivor.member], namesOfPartitions(topic, 2));
    },
  );

  requiring('unplug')(
    'a member without a connection to its group gives up on its own',
    async (context) => {
      const { members, topic } = await twoMembers(context);
      const [cutOff] = members;
      const owned = cutOff.member.session.assignment();
      await context.ability('unplug')(cutOff.driver);
      await context.eventually(
        'it knows of the loss',
        () => cutOff.member.eventsOf('lost').length === 1,
      );
      const commit = cutOff.member.session.commit(owned.map((each) => ({ ...each, offset: 0 })));
      const error = await context.rejects(commit, FencedError);
      assert.deepEqual(error.partitions.map(partitionName), owned.map(partitionName));
      assert.equal(topic, owned[0]?.topic);
    },
  );

  requiring('unplug')(
    'a member joins again after it was disconnected for longer than its session timeout',
    async (context) => {
      const { members, topic } = await twoMembers(context);
      const [disconnected, survivor] = members;
      const { memberId } = disconnected.member.session;
      const reconnect = await context.ability('unplug')(disconnected.driver);
      await waitUntilShared(context, [survivor.member], namesOfPartitions(topic, 2));
      await reconnect();
      await waitUntilShared(
        context,
        [disconnected.member, survivor.member],
        namesOfPartitions(topic, 2),
      );
      assert.notEqual(disconnected.member.session.memberId, memberId);
      assert.equal(disconnected.member.eventsOf('lost').length, 1);
    },
  );

  requiring('expelMember')(
    'an expelled member is fenced, reports it, and joins again',
    async (context) => {
      const [topic, groupId] = [await context.topic(), context.name('group')];
      await context.write(topic, numbered(5));
      const member = await context.join({ topics: [topic], groupId });
      await member.read(4);
      await member.session.commit([{ topic, partition: 0, offset: 2 }]);
      await context.ability('expelMember')(groupId, member.session.memberId);
      const commit = member.session.commit([{ topic, partition: 0, offset: 4 }]);
      await context.rejects(commit, FencedError);
      await context.eventually('onLost is called', () => member.eventsOf('lost').length === 1);
      await context.eventually('it owns it again', () => member.eventsOf('assigned').length === 2);
      assert.deepEqual(await member.readValues(3), ['2', '3', '4']);
      assert.deepEqual(member.eventsOf('revoked'), []);
    },
  );
}

async function twoMembers(context: CaseContext) {
  const [topic, groupId] = [await context.topic(2), context.name('group')];
  const [mine, driver] = [await context.newProcess(), await context.newProcess()];
  const [first, second] = await Promise.all(
    [mine, driver].map(async (each) => ({
      driver: each,
      member: await context.join({ topics: [topic], groupId, driver: each }),
    })),
  );
  assert.ok(first && second);
  await waitUntilShared(context, [first.member, second.member], namesOfPartitions(topic, 2));
  return { topic, groupId, members: [first, second] as const };
}
