import assert from 'node:assert/strict';
import type { ConsumerOptions } from '../../port/consumer.js';
import { numbered } from '../numbered.js';
import { valueOf, type Member } from '../member.js';
import type { ContractSuite } from '../suite.js';
import type { World } from '../world.js';

export function seekingContract({ promise, needing }: ContractSuite): void {
  promise('goes back: records are given again', async (world) => {
    const { member, partition } = await readingTen(world);
    await member.read(7);
    member.session.seek(partition, 2);
    assert.equal(member.session.position(partition), 2);
    assert.deepEqual(await member.readValues(8), numbered(8, 2));
  });

  promise('goes forward: buffered records are left out', async (world) => {
    const { member, partition } = await readingTen(world);
    await member.read(1);
    member.session.seek(partition, 8);
    assert.deepEqual(await member.readValues(2), ['8', '9']);
  });

  promise('follows the last of several', async (world) => {
    const { member, partition } = await readingTen(world);
    await member.read(5);
    for (const offset of [9, 0, 4]) member.session.seek(partition, offset);
    assert.deepEqual(await member.readValues(1), ['4']);
  });

  promise('wakes a poll that waits at the end', async (world) => {
    const { member, partition } = await readingTen(world);
    await member.read(10);
    const poll = member.session.poll(1);
    await world.staysPending(poll, 'A poll at the end');
    member.session.seek(partition, 3);
    assert.deepEqual((await world.within(poll, 'the old record')).map(valueOf), ['3']);
  });

  promise('is not held up by the long poll that was out for the old place', async (world) => {
    const { member, partition } = await readingTen(world, { fetch: { maxWaitMs: 8_000 } });
    await member.read(10);
    const poll = member.session.poll(1);
    await world.staysPending(poll, 'A poll at the end');
    const soughtAt = world.runtime.monotonic();
    member.session.seek(partition, 3);
    await world.within(poll, 'the old record');
    const took = world.runtime.monotonic() - soughtAt;
    assert.ok(took < 2_000, `The record came ${Math.round(took)} ms after the seek.`);
  });

  promise('waits at the end for the record that is to come', async (world) => {
    const { member, partition } = await readingTen(world);
    member.session.seek(partition, 10);
    await world.write(partition.topic, ['10']);
    assert.deepEqual(await member.readValues(1), ['10']);
  });

  promise('moves the start while the partition is assigned', async (world) => {
    const topic = await world.topic();
    await world.write(topic, numbered(10));
    const member = world.member({
      topics: [topic],
      on: { onAssigned: ([partition]) => partition && member.session.seek(partition, 6) },
    });
    await member.start();
    assert.deepEqual(await member.readValues(4), numbered(4, 6));
  });

  promise('holds through a pause that follows at once', async (world) => {
    const { member, partition } = await readingTen(world);
    await member.read(5);
    member.session.seek(partition, 1);
    member.session.pause([partition]);
    await world.turn();
    assert.equal(member.session.position(partition), 1);
    member.session.resume([partition]);
    assert.deepEqual(await member.readValues(2), ['1', '2']);
  });

  promise('touches no other partition', async (world) => {
    const topic = await world.topic(2);
    for (const partition of [0, 1]) await world.write(topic, numbered(3), partition);
    const member = await world.join({ topics: [topic] });
    await member.read(6);
    member.session.seek({ topic, partition: 1 }, 2);
    const [record] = await member.read(1);
    assert.deepEqual([record?.partition, record?.offset], [1, 2]);
    await world.staysPending(member.session.poll(1), 'A poll with all read');
  });

  promise('below the low watermark follows the policy: earliest', async (world) => {
    const { member, partition } = await readingTen(world);
    await member.read(10);
    await world.admin.deleteRecords(partition.topic, [{ partition: 0, offset: 4 }]);
    member.session.seek(partition, 1);
    assert.deepEqual(await member.readValues(1), ['4']);
  });

  needing('openTransaction')('to an aborted record goes to the next good one', async (world) => {
    const topic = await world.topic();
    await world.write(topic, ['0']);
    const transaction = await world.ability('openTransaction')();
    await transaction.send([{ topic, partition: 0, value: 'aborted' }]);
    await transaction.abort();
    await world.write(topic, ['good']);
    const member = await world.join({ topics: [topic] });
    await member.read(2);
    member.session.seek({ topic, partition: 0 }, 1);
    assert.deepEqual(await member.readValues(1), ['good']);
  });
}

async function readingTen(
  world: World,
  options: Pick<ConsumerOptions, 'fetch'> = {},
): Promise<{
  member: Member;
  partition: { topic: string; partition: number };
}> {
  const topic = await world.topic();
  await world.write(topic, numbered(10));
  return {
    member: await world.join({ ...options, topics: [topic] }),
    partition: { topic, partition: 0 },
  };
}
