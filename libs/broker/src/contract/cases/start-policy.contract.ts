import assert from 'node:assert/strict';
import { NoOffsetError, OffsetOutOfRangeError } from '../../port/errors.js';
import type { OffsetReset } from '../../port/consumer.js';
import { Deferred } from '../../runtime/waiting.js';
import { valueOf } from '../member.js';
import { numbered } from '../numbered.js';
import type { ContractSuite } from '../suite.js';
import type { World } from '../world.js';

export function startPolicyContract(suite: ContractSuite): void {
  withoutCommittedOffset(suite);
  withCommittedOffset(suite);
  outOfRange(suite);
}

function withoutCommittedOffset({ promise }: ContractSuite): void {
  for (const offsetReset of ['earliest', undefined] as const)
    promise(`starts at the first record: ${offsetReset ?? 'by default'}`, async (world) => {
      const topic = await world.topic();
      await world.write(topic, numbered(3));
      const member = await world.join({ topics: [topic], offsetReset });
      assert.deepEqual(member.assigned(), [{ topic, partition: 0, position: 0, committed: null }]);
      assert.deepEqual(await member.readValues(3), numbered(3));
    });

  promise('starts after the last record: latest', async (world) => {
    const topic = await world.topic();
    await world.write(topic, numbered(3));
    const member = await world.join({ topics: [topic], offsetReset: 'latest' });
    assert.equal(member.assigned()[0]?.position, 3);
    await world.write(topic, ['new']);
    assert.deepEqual(await member.readValues(1), ['new']);
  });

  promise('is where the next member starts, if this one leaves at once: latest', async (world) => {
    const [topic, groupId] = [await world.topic(), world.name('group')];
    const options = { topics: [topic], groupId, offsetReset: 'latest' } as const;
    const told = new Deferred();
    const on = { onAssigned: () => told.promise };
    const member = world.member({ ...options, on, rebalanceTimeoutMs: 10_000 });
    const starting = world.failureOf(member.begin());
    await world.eventually('it is told of its partition', () => member.told('assigned').length > 0);
    await world.write(topic, ['meanwhile']);
    const closing = member.close();
    await world.turn();
    told.resolve();
    await closing;
    await world.within(starting, 'the start to end');
    const next = await world.join(options);
    assert.deepEqual(await next.readValues(1), ['meanwhile']);
  });

  promise('starts at the low watermark where the log was cut: earliest', async (world) => {
    const topic = await world.topic();
    await world.write(topic, numbered(5));
    await world.admin.deleteRecords(topic, [{ partition: 0, offset: 2 }]);
    const member = await world.join({ topics: [topic] });
    assert.equal(member.assigned()[0]?.position, 2);
    assert.deepEqual(await member.readValues(3), ['2', '3', '4']);
  });

  promise('stops a partition without an offset, and only that: none', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    for (const partition of [0, 1]) await world.write(topic, numbered(3), partition);
    await world.admin.setGroupOffsets(groupId, [{ topic, partition: 1, offset: 1 }]);
    const member = await world.join({ topics: [topic], groupId, offsetReset: 'none' });
    const error = await member.stopped();
    assert.ok(error instanceof NoOffsetError, `got ${String(error)}`);
    assert.deepEqual([error.topic, error.partition], [topic, 0]);
    const records = await member.read(2);
    assert.deepEqual(
      records.map(({ partition, offset }) => [partition, offset]),
      [
        [1, 1],
        [1, 2],
      ],
    );
  });

  promise('starts a stopped partition by seek: none', async (world) => {
    const topic = await world.topic();
    await world.write(topic, numbered(3));
    const member = await world.join({ topics: [topic], offsetReset: 'none' });
    await member.stopped();
    member.session.seek({ topic, partition: 0 }, 1);
    assert.deepEqual(await member.readValues(2), ['1', '2']);
  });
}

function withCommittedOffset({ promise }: ContractSuite): void {
  for (const offsetReset of ['earliest', 'latest', 'none'] as const)
    promise(
      `starts at the committed offset, whatever the policy: ${offsetReset}`,
      async (world) => {
        const { topic, groupId } = await committedAt(world, 2);
        const member = await world.join({ topics: [topic], groupId, offsetReset });
        assert.equal(member.assigned()[0]?.position, 2);
        assert.equal(member.assigned()[0]?.committed?.offset, 2);
        assert.deepEqual(await member.readValues(8), numbered(8, 2));
      },
    );

  promise('starts at a committed offset that is the end of the log', async (world) => {
    const { topic, groupId } = await committedAt(world, 10);
    const member = await world.join({ topics: [topic], groupId, offsetReset: 'none' });
    await world.write(topic, ['next']);
    assert.deepEqual(await member.readValues(1), ['next']);
  });
}

function outOfRange({ promise }: ContractSuite): void {
  promise(
    'goes to the first record when the committed one was deleted: earliest',
    async (world) => {
      const member = await joinBehindTheLog(world, 'earliest');
      assert.deepEqual(await member.readValues(5), numbered(5, 5));
    },
  );

  promise('goes to the end when the committed one was deleted: latest', async (world) => {
    const member = await joinBehindTheLog(world, 'latest');
    const [partition] = member.session.assignment();
    assert.ok(partition);
    const poll = member.session.poll(1);
    await world.eventually('it stands at the end', () => member.session.position(partition) === 10);
    await world.write(partition.topic, ['new']);
    assert.deepEqual((await world.within(poll, 'the new record')).map(valueOf), ['new']);
  });

  promise('never jumps silently when the committed one was deleted: none', async (world) => {
    const member = await joinBehindTheLog(world, 'none');
    const error = await member.stopped();
    assert.ok(error instanceof OffsetOutOfRangeError, `got ${String(error)}`);
    assert.deepEqual([error.offset, error.low, error.high], [2, 5, 10]);
    await world.staysPending(member.session.poll(1), 'A poll of a stopped partition');
  });

  promise('goes on by seek after it was out of range: none', async (world) => {
    const member = await joinBehindTheLog(world, 'none');
    const { topic, partition } = await member.stopped();
    member.session.seek({ topic, partition }, 5);
    assert.deepEqual(await member.readValues(5), numbered(5, 5));
  });

  promise('stops when the offset lies beyond the end: none', async (world) => {
    const { topic, groupId } = await committedAt(world, 100);
    const member = await world.join({ topics: [topic], groupId, offsetReset: 'none' });
    const error = await member.stopped();
    assert.ok(error instanceof OffsetOutOfRangeError, `got ${String(error)}`);
    assert.deepEqual([error.offset, error.low, error.high], [100, 0, 10]);
  });

  promise(
    'goes to the first record when the offset lies beyond the end: earliest',
    async (world) => {
      const { topic, groupId } = await committedAt(world, 100);
      const member = await world.join({ topics: [topic], groupId, offsetReset: 'earliest' });
      assert.deepEqual(await member.readValues(10), numbered(10));
    },
  );

  promise('lets other partitions go on while one is out of range: none', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    for (const partition of [0, 1]) await world.write(topic, numbered(4), partition);
    const offsets = [0, 1].map((partition) => ({ topic, partition, offset: 1 }));
    await world.admin.setGroupOffsets(groupId, offsets);
    await world.admin.deleteRecords(topic, [{ partition: 0, offset: 3 }]);
    const member = await world.join({ topics: [topic], groupId, offsetReset: 'none' });
    const records = await member.read(3);
    assert.deepEqual([...new Set(records.map(({ partition }) => partition))], [1]);
    assert.equal((await member.stopped()).partition, 0);
  });

  for (const offsetReset of ['earliest', 'none'] as const)
    promise(`notices records deleted under a running session: ${offsetReset}`, async (world) => {
      const { topic, groupId } = await committedAt(world, 0);
      const member = world.member({
        topics: [topic],
        groupId,
        offsetReset,
        on: { onAssigned: (partitions) => member.session.pause(partitions) },
      });
      await member.start();
      await world.admin.deleteRecords(topic, [{ partition: 0, offset: 6 }]);
      member.session.resume([{ topic, partition: 0 }]);
      if (offsetReset === 'none') assert.equal((await member.stopped()).offset, 0);
      else assert.deepEqual(await member.readValues(4), numbered(4, 6));
    });
}

/** Ten records, and a group without members that has committed this offset. */
async function committedAt(
  world: World,
  offset: number,
): Promise<{ topic: string; groupId: string }> {
  const [topic, groupId] = [await world.topic(), world.name('group')];
  await world.write(topic, numbered(10));
  await world.admin.setGroupOffsets(groupId, [{ topic, partition: 0, offset }]);
  return { topic, groupId };
}

/** Committed at 2, but the log begins at 5 and ends at 10. */
async function joinBehindTheLog(world: World, offsetReset: OffsetReset) {
  const { topic, groupId } = await committedAt(world, 2);
  await world.admin.deleteRecords(topic, [{ partition: 0, offset: 5 }]);
  return world.join({ topics: [topic], groupId, offsetReset });
}
