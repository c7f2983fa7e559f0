import assert from 'node:assert/strict';
import { FencedError, StaticMemberFencedError } from '../../../port/errors.js';
import { waitUntilShared } from '../../group.js';
import type { Member } from '../../member.js';
import { numbered } from '../../test-values.js';
import { namesOfPartitions } from '../../test-values.js';
import type { ContractSuite } from '../../contract-suite.js';
import type { CaseContext } from '../../case-context.js';

export function staticMembersContract(suite: ContractSuite): void {
  suite.section('restarts', () => restarts(suite));
  suite.section('duplicate instance ids', () => duplicateInstanceIds(suite));
}

function restarts({ testCase }: ContractSuite): void {
  for (const [which, index] of [
    ['the first member', 0],
    ['the second member', 1],
  ] as const)
    testCase(
      `a member that restarts in time gets its partitions, without a rebalance: ${which}`,
      async (context) => {
        const { topic, members, options } = await twoMembers(context);
        const [leaving, staying] = [members[index], members[1 - index]];
        assert.ok(leaving && staying);
        const [had, generation] = [leaving.owned(), leaving.session.generation];
        const before = leaving.eventsOf('revoked').length;
        await leaving.close();
        assert.deepEqual(leaving.eventsOf('revoked').slice(before).sort(), had);
        const reported = [staying.events.length, staying.statuses.length];
        const back = await context.join({ ...options(index), driver: await context.newProcess() });
        await context.eventually('it has what it had', () => back.owned().length === had.length);
        await context.work(context.times.heartbeatIntervalMs * 3);
        assert.deepEqual(back.owned(), had);
        assert.equal(back.session.generation, generation);
        assert.notEqual(back.session.memberId, leaving.session.memberId);
        assert.deepEqual([staying.events.length, staying.statuses.length], reported);
        await waitUntilShared(context, [staying, back], namesOfPartitions(topic, 4));
      },
    );

  testCase(
    'a restarted member continues at the committed offsets, and can commit',
    async (context) => {
      const { topic, members, options } = await twoMembers(context);
      const [leaving] = members;
      const [kept] = leaving?.session.assignment() ?? [];
      assert.ok(leaving && kept);
      await context.write(topic, numbered(5), kept.partition);
      await leaving.read(5);
      await leaving.session.commit([{ ...kept, offset: 3 }]);
      await leaving.close();
      const back = await context.join(options(0));
      assert.deepEqual(await back.readValues(2), ['3', '4']);
      await back.session.commit([{ ...kept, offset: 5 }]);
      const [stored] = await back.session.committed([kept]);
      assert.equal(stored?.offset, 5);
    },
  );

  testCase(
    'a member that does not restart is removed after its session timeout',
    async (context) => {
      const sessionTimeoutMs = context.times.sessionTimeoutMs;
      const { topic, groupId, members } = await twoMembers(context, { sessionTimeoutMs });
      const [leaving, staying] = members;
      assert.ok(leaving && staying);
      await leaving.close();
      assert.equal((await context.admin.describeGroup(groupId)).members.length, 2);
      await waitUntilShared(context, [staying], namesOfPartitions(topic, 4));
    },
  );

  testCase('a static member stays in a group that others join and leave', async (context) => {
    const { topic, groupId, members } = await twoMembers(context);
    const driver = await context.newProcess();
    const guest = await context.join({ topics: [topic], groupId, driver });
    await waitUntilShared(context, [...members, guest], namesOfPartitions(topic, 4));
    await guest.close();
    await waitUntilShared(context, members, namesOfPartitions(topic, 4));
  });
}

function duplicateInstanceIds({ testCase }: ContractSuite): void {
  testCase(
    'the second session takes over, and the first fails with StaticMemberFencedError',
    async (context) => {
      const { topic, members, options } = await twoMembers(context);
      const [first, staying] = members;
      assert.ok(first && staying);
      const [had, before] = [first.owned(), first.eventsOf('revoked').length];
      const poll = context.rejects(first.session.poll(1), StaticMemberFencedError);
      const second = await context.join({ ...options(0), driver: await context.newProcess() });
      await context.eventually('the first fails', () => first.session.status.state === 'failed');
      const { status } = first.session;
      assert.ok(status.state === 'failed' && status.error instanceof StaticMemberFencedError);
      await poll;
      assert.deepEqual(first.eventsOf('lost').sort(), had);
      assert.equal(first.eventsOf('revoked').length, before);
      await waitUntilShared(context, [second, staying], namesOfPartitions(topic, 4));
      await context.work(context.times.heartbeatIntervalMs * 3);
      assert.ok(second.isStable());
      await first.close();
    },
  );

  testCase('a commit of the first session is fenced, and reports the reason', async (context) => {
    const { members, options } = await twoMembers(context);
    const [first] = members;
    const [kept] = first?.session.assignment() ?? [];
    assert.ok(first && kept);
    await context.join({ ...options(0), driver: await context.newProcess() });
    await context.rejects(first.session.commit([{ ...kept, offset: 0 }]), FencedError);
    await context.eventually('the first fails', () => first.session.status.state === 'failed');
  });
}

async function twoMembers(
  context: CaseContext,
  { sessionTimeoutMs = context.times.sessionTimeoutMs * 5 } = {},
) {
  const [topic, groupId] = [await context.topic(4), context.name('group')];
  const options = (index: number) => ({
    topics: [topic],
    groupId,
    groupInstanceId: `instance-${index}`,
    sessionTimeoutMs,
  });
  const members: Member[] = [];
  for (const index of [0, 1]) {
    const driver = await context.newProcess();
    members.push(await context.join({ ...options(index), driver }));
  }
  await waitUntilShared(context, members, namesOfPartitions(topic, 4));
  return { topic, groupId, members, options };
}
