import assert from 'node:assert/strict';
import { FencedError, UnsupportedError } from '../../port/errors.js';
import { sharedOut } from '../group.js';
import { namesOf } from '../partition-name.js';
import type { ContractSuite } from '../suite.js';
import type { World } from '../world.js';

export function transactionsContract({ needing }: ContractSuite): void {
  needing('no transactions')('are refused clearly where there are none', async (world) => {
    const error = await world.rejects(world.producer().transaction(), UnsupportedError);
    assert.equal(error.retriable, false);
  });

  const promise = needing('transactions');

  promise('a commit shows all partitions and the offsets', async (world) => {
    const { topic, groupId, transaction } = await begun(world);
    assert.deepEqual(await readable(world, topic), []);
    assert.deepEqual(await world.admin.groupOffsets(groupId), []);
    await world.within(transaction.commit(), 'the commit');
    await becomesReadable(world, topic, ['0:a', '1:b']);
    await world.eventually(
      'the offset is committed',
      async () => (await world.admin.groupOffsets(groupId))[0]?.offset === 7,
    );
  });

  promise('an abort shows neither', async (world) => {
    const { topic, groupId, transaction } = await begun(world);
    await world.within(transaction.abort(), 'the abort');
    assert.deepEqual(await readable(world, topic), []);
    assert.deepEqual(await world.admin.groupOffsets(groupId), []);
  });

  promise('a member of an old generation cannot send its offsets', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    const first = await world.join({ topics: [topic], groupId });
    const { memberId, generation } = first.session;
    const driver = await world.process();
    const second = await world.join({ topics: [topic], groupId, driver });
    await sharedOut(world, [first, second], namesOf(topic, 2));
    const transaction = await world.producer().transaction();
    await transaction.send([{ topic, value: 'of a zombie' }]);
    const offsets = [{ topic, partition: 0, offset: 1 }];
    await world.rejects(
      transaction.sendOffsets({ groupId, memberId, generation, offsets }),
      FencedError,
    );
    await transaction.abort();
    assert.deepEqual(await world.admin.groupOffsets(groupId), []);
  });

  promise('a transaction that has ended takes nothing more', async (world) => {
    const topic = await world.topic();
    const transaction = await world.producer().transaction();
    await transaction.send([{ topic, partition: 0, value: 'in time' }]);
    await world.within(transaction.commit(), 'the commit');
    await world.rejects(transaction.send([{ topic, partition: 0, value: 'late' }]), Error);
    await world.rejects(transaction.commit(), Error);
    await becomesReadable(world, topic, ['0:in time']);
  });

  promise('one follows another', async (world) => {
    const topic = await world.topic();
    const producer = world.producer();
    for (const [value, good] of [
      ['first', true],
      ['second', false],
      ['third', true],
    ] as const) {
      const transaction = await world.within(producer.transaction(), 'a transaction');
      await transaction.send([{ topic, partition: 0, value }]);
      await (good ? transaction.commit() : transaction.abort());
    }
    await becomesReadable(world, topic, ['0:first', '0:third']);
  });
}

/** A transaction with a record in each of two partitions and an offset of a group. */
async function begun(world: World) {
  const [topic, source, groupId] = [await world.topic(2), await world.topic(), world.name('group')];
  const { session } = await world.join({ topics: [source], groupId });
  const transaction = await world.within(world.producer().transaction(), 'a transaction');
  await transaction.send([
    { topic, partition: 0, value: 'a' },
    { topic, partition: 1, value: 'b' },
  ]);
  const offsets = [{ topic: source, partition: 0, offset: 7 }];
  const { memberId, generation } = session;
  await transaction.sendOffsets({ groupId, memberId, generation, offsets });
  return { topic, groupId, transaction };
}

/** The broker answers a commit before its end is in every log. */
async function becomesReadable(
  world: World,
  topic: string,
  expected: readonly string[],
): Promise<void> {
  const all = expected.join();
  await world.eventually(
    `exactly ${all} can be read`,
    async () => (await readable(world, topic)).join() === all,
  );
}

/** What a read_committed reader may see, without joining a group. */
async function readable(world: World, topic: string): Promise<string[]> {
  const seen: string[] = [];
  for (const { partition } of await world.admin.watermarks(topic))
    for await (const record of world.admin.readRange(topic, partition, 0, 100))
      seen.push(`${partition}:${String(record.value)}`);
  return seen;
}
