import assert from 'node:assert/strict';
import type { OffsetReset } from '../../port/consumer.js';
import { valueOf, type Member } from '../member.js';
import { numbered } from '../numbered.js';
import type { ContractSuite } from '../suite.js';
import type { World } from '../world.js';

export function growthContract(suite: ContractSuite): void {
  aRunningGroup(suite);
  whoComesLater(suite);
}

function aRunningGroup({ promise, needing }: ContractSuite): void {
  for (const offsetReset of ['earliest', 'latest', 'none'] as const)
    promise(`reads a new partition from its first record: ${offsetReset}`, async (world) => {
      const { topic, member } = await begun(world, offsetReset);
      await world.admin.createPartitions(topic, 2);
      await world.write(topic, numbered(5), 1);
      assert.deepEqual((await member.read(5)).map(placeOf), placesOf(1, 5));
    });

  for (const assignor of ['range', 'cooperative-sticky'] as const)
    needing(assignor)(
      `shares out new partitions, and misses nothing: ${assignor}`,
      async (world) => {
        const [topic, groupId] = [await world.topic(2), world.name('group')];
        const options = { topics: [topic], groupId, assignors: [assignor] };
        const members = [
          await world.join({ ...options, offsetReset: 'latest' }),
          await world.join({ ...options, offsetReset: 'latest' }),
        ];
        for (const member of members) member.keepReading();
        await world.admin.createPartitions(topic, 4);
        for (const partition of [2, 3]) await world.write(topic, numbered(5), partition);
        const places = (): Set<string> =>
          new Set(members.flatMap(({ handled }) => handled.map(placeOf)));
        await world.eventually('all of the new partitions is read', () => places().size === 10);
        assert.deepEqual([...places()].sort(), [...placesOf(2, 5), ...placesOf(3, 5)]);
      },
    );
}

function whoComesLater({ promise }: ContractSuite): void {
  promise('begins a new partition at its first record, if nobody did: latest', async (world) => {
    const { topic, groupId, member } = await begun(world, 'latest');
    await member.session.close();
    await world.admin.createPartitions(topic, 2);
    await world.write(topic, numbered(3), 1);
    const next = await world.join({ topics: [topic], groupId, offsetReset: 'latest' });
    assert.deepEqual((await next.read(3)).map(placeOf), placesOf(1, 3));
  });

  promise('begins where the one before began, if that handled nothing: latest', async (world) => {
    const [topic, groupId] = [await world.topic(), world.name('group')];
    await world.write(topic, numbered(3));
    const options = { topics: [topic], groupId, offsetReset: 'latest' } as const;
    const first = await world.join(options);
    await world.eventually('the start is committed', async () => {
      const [committed] = await first.session.committed([{ topic, partition: 0 }]);
      return committed?.offset === 3;
    });
    await first.session.close();
    await world.write(topic, ['while nobody was there']);
    const next = await world.join(options);
    assert.deepEqual((await next.read(1)).map(valueOf), ['while nobody was there']);
  });

  promise('is not kept by a start from what the listener committed: latest', async (world) => {
    const [topic, groupId] = [await world.topic(), world.name('group')];
    await world.write(topic, numbered(3));
    const member = world.member({
      topics: [topic],
      groupId,
      offsetReset: 'latest',
      on: { onAssigned: () => member.session.commit([{ topic, partition: 0, offset: 1 }]) },
    });
    await member.start();
    await member.session.close();
    const offsets = await world.admin.groupOffsets(groupId);
    assert.deepEqual(
      offsets.map(({ offset }) => offset),
      [1],
    );
  });
}

/** A group that has begun with one partition; with 'none', it was given an offset there. */
async function begun(
  world: World,
  offsetReset: OffsetReset,
): Promise<{ topic: string; groupId: string; member: Member }> {
  const [topic, groupId] = [await world.topic(), world.name('group')];
  if (offsetReset === 'none')
    await world.admin.setGroupOffsets(groupId, [{ topic, partition: 0, offset: 0 }]);
  const member = await world.join({ topics: [topic], groupId, offsetReset });
  if (offsetReset === 'latest')
    await world.eventually('the start is committed', async () => {
      const committed = await member.session.committed([{ topic, partition: 0 }]);
      return committed.length === 1;
    });
  return { topic, groupId, member };
}

const placeOf = ({ partition, offset }: { partition: number; offset: number }): string =>
  `${partition}:${offset}`;

const placesOf = (partition: number, count: number): string[] =>
  Array.from({ length: count }, (_, offset) => `${partition}:${offset}`);
