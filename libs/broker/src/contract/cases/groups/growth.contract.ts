import assert from 'node:assert/strict';
import type { OffsetReset } from '../../../port/consumer.js';
import { valueOf, type Member } from '../../member.js';
import { numbered } from '../../test-values.js';
import type { ContractSuite } from '../../contract-suite.js';
import type { CaseContext } from '../../case-context.js';

export function growthContract(suite: ContractSuite): void {
  runningGroup(suite);
  lateJoiners(suite);
}

function runningGroup({ testCase, requiring }: ContractSuite): void {
  for (const offsetReset of ['earliest', 'latest', 'none'] as const)
    testCase(`reads a new partition from its first record: ${offsetReset}`, async (context) => {
      const { topic, member } = await runningMember(context, offsetReset);
      await context.admin.createPartitions(topic, 2);
      await context.write(topic, numbered(5), 1);
      assert.deepEqual((await member.read(5)).map(positionOf), positionsOf(1, 5));
    });

  for (const assignor of ['range', 'cooperative-sticky'] as const)
    requiring(assignor)(
      `assigns new partitions, and skips no record: ${assignor}`,
      async (context) => {
        const [topic, groupId] = [await context.topic(2), context.name('group')];
        const options = { topics: [topic], groupId, assignors: [assignor] };
        const members = [
          await context.join({ ...options, offsetReset: 'latest' }),
          await context.join({ ...options, offsetReset: 'latest' }),
        ];
        for (const member of members) member.keepReading();
        await context.admin.createPartitions(topic, 4);
        for (const partition of [2, 3]) await context.write(topic, numbered(5), partition);
        const places = (): Set<string> =>
          new Set(members.flatMap(({ handled }) => handled.map(positionOf)));
        await context.eventually('all of the new partitions is read', () => places().size === 10);
        assert.deepEqual([...places()].sort(), [...positionsOf(2, 5), ...positionsOf(3, 5)]);
      },
    );
}

function lateJoiners({ testCase }: ContractSuite): void {
  testCase(
    'starts a new partition at its first record if the group has no offset for it: latest',
    async (context) => {
      const { topic, groupId, member } = await runningMember(context, 'latest');
      await member.session.close();
      await context.admin.createPartitions(topic, 2);
      await context.write(topic, numbered(3), 1);
      const next = await context.join({ topics: [topic], groupId, offsetReset: 'latest' });
      assert.deepEqual((await next.read(3)).map(positionOf), positionsOf(1, 3));
    },
  );

  testCase(
    'starts where the previous owner started if that handled nothing: latest',
    async (context) => {
      const [topic, groupId] = [await context.topic(), context.name('group')];
      await context.write(topic, numbered(3));
      const options = { topics: [topic], groupId, offsetReset: 'latest' } as const;
      const first = await context.join(options);
      await context.eventually('the start is committed', async () => {
        const [committed] = await first.session.committed([{ topic, partition: 0 }]);
        return committed?.offset === 3;
      });
      await first.session.close();
      await context.write(topic, ['without members']);
      const next = await context.join(options);
      assert.deepEqual((await next.read(1)).map(valueOf), ['without members']);
    },
  );

  testCase(
    'a commit of the listener is not overwritten by the automatic one: latest',
    async (context) => {
      const [topic, groupId] = [await context.topic(), context.name('group')];
      await context.write(topic, numbered(3));
      const member = context.member({
        topics: [topic],
        groupId,
        offsetReset: 'latest',
        on: { onAssigned: () => member.session.commit([{ topic, partition: 0, offset: 1 }]) },
      });
      await member.start();
      await member.session.close();
      const offsets = await context.admin.groupOffsets(groupId);
      assert.deepEqual(
        offsets.map(({ offset }) => offset),
        [1],
      );
    },
  );
}

/** Creates a running group with one partition; with 'none' an offset is committed for it. */
async function runningMember(
  context: CaseContext,
  offsetReset: OffsetReset,
): Promise<{ topic: string; groupId: string; member: Member }> {
  const [topic, groupId] = [await context.topic(), context.name('group')];
  if (offsetReset === 'none')
    await context.admin.setGroupOffsets(groupId, [{ topic, partition: 0, offset: 0 }]);
  const member = await context.join({ topics: [topic], groupId, offsetReset });
  if (offsetReset === 'latest')
    await context.eventually('the start is committed', async () => {
      const committed = await member.session.committed([{ topic, partition: 0 }]);
      return committed.length === 1;
    });
  return { topic, groupId, member };
}

const positionOf = ({ partition, offset }: { partition: number; offset: number }): string =>
  `${partition}:${offset}`;

const positionsOf = (partition: number, count: number): string[] =>
  Array.from({ length: count }, (_, offset) => `${partition}:${offset}`);
