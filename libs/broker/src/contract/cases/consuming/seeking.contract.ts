import assert from 'node:assert/strict';
import type { ConsumerOptions } from '../../../port/consumer.js';
import { numbered } from '../../test-values.js';
import { valueOf, type Member } from '../../member.js';
import type { ContractSuite } from '../../contract-suite.js';
import type { CaseContext } from '../../case-context.js';

export function seekingContract({ testCase, requiring }: ContractSuite): void {
  testCase('a seek backwards returns records again', async (context) => {
    const { member, partition } = await readingTen(context);
    await member.read(7);
    member.session.seek(partition, 2);
    assert.equal(member.session.position(partition), 2);
    assert.deepEqual(await member.readValues(8), numbered(8, 2));
  });

  testCase('a seek forwards skips buffered records', async (context) => {
    const { member, partition } = await readingTen(context);
    await member.read(1);
    member.session.seek(partition, 8);
    assert.deepEqual(await member.readValues(2), ['8', '9']);
  });

  testCase('the last of several seeks wins', async (context) => {
    const { member, partition } = await readingTen(context);
    await member.read(5);
    for (const offset of [9, 0, 4]) member.session.seek(partition, offset);
    assert.deepEqual(await member.readValues(1), ['4']);
  });

  testCase('a seek wakes a poll that waits at the end', async (context) => {
    const { member, partition } = await readingTen(context);
    await member.read(10);
    const poll = member.session.poll(1);
    await context.staysPending(poll, 'A poll at the end');
    member.session.seek(partition, 3);
    assert.deepEqual((await context.within(poll, 'the old record')).map(valueOf), ['3']);
  });

  testCase('a seek is not delayed by the long poll of the old position', async (context) => {
    const { member, partition } = await readingTen(context, { fetch: { maxWaitMs: 8_000 } });
    await member.read(10);
    const poll = member.session.poll(1);
    await context.staysPending(poll, 'A poll at the end');
    const soughtAt = context.runtime.monotonic();
    member.session.seek(partition, 3);
    await context.within(poll, 'the old record');
    const took = context.runtime.monotonic() - soughtAt;
    assert.ok(took < 2_000, `The record came ${Math.round(took)} ms after the seek.`);
  });

  testCase('a seek to the end waits for the next record', async (context) => {
    const { member, partition } = await readingTen(context);
    member.session.seek(partition, 10);
    await context.write(partition.topic, ['10']);
    assert.deepEqual(await member.readValues(1), ['10']);
  });

  testCase('a seek in onAssigned changes the start position', async (context) => {
    const topic = await context.topic();
    await context.write(topic, numbered(10));
    const member = context.member({
      topics: [topic],
      on: { onAssigned: ([partition]) => partition && member.session.seek(partition, 6) },
    });
    await member.start();
    assert.deepEqual(await member.readValues(4), numbered(4, 6));
  });

  testCase('a seek stays valid if a pause follows at once', async (context) => {
    const { member, partition } = await readingTen(context);
    await member.read(5);
    member.session.seek(partition, 1);
    member.session.pause([partition]);
    await context.yieldToEventLoop();
    assert.equal(member.session.position(partition), 1);
    member.session.resume([partition]);
    assert.deepEqual(await member.readValues(2), ['1', '2']);
  });

  testCase('a seek does not affect other partitions', async (context) => {
    const topic = await context.topic(2);
    for (const partition of [0, 1]) await context.write(topic, numbered(3), partition);
    const member = await context.join({ topics: [topic] });
    await member.read(6);
    member.session.seek({ topic, partition: 1 }, 2);
    const [record] = await member.read(1);
    assert.deepEqual([record?.partition, record?.offset], [1, 2]);
    await context.staysPending(member.session.poll(1), 'A poll with all read');
  });

  testCase(
    'a seek below the low watermark continues at the first record with earliest',
    async (context) => {
      const { member, partition } = await readingTen(context);
      await member.read(10);
      await context.admin.deleteRecords(partition.topic, [{ partition: 0, offset: 4 }]);
      member.session.seek(partition, 1);
      assert.deepEqual(await member.readValues(1), ['4']);
    },
  );

  requiring('openTransaction')(
    'a seek to an aborted record continues at the next committed one',
    async (context) => {
      const topic = await context.topic();
      await context.write(topic, ['0']);
      const transaction = await context.ability('openTransaction')();
      await transaction.send([{ topic, partition: 0, value: 'aborted' }]);
      await transaction.abort();
      await context.write(topic, ['good']);
      const member = await context.join({ topics: [topic] });
      await member.read(2);
      member.session.seek({ topic, partition: 0 }, 1);
      assert.deepEqual(await member.readValues(1), ['good']);
    },
  );
}

async function readingTen(
  context: CaseContext,
  options: Pick<ConsumerOptions, 'fetch'> = {},
): Promise<{
  member: Member;
  partition: { topic: string; partition: number };
}> {
  const topic = await context.topic();
  await context.write(topic, numbered(10));
  return {
    member: await context.join({ ...options, topics: [topic] }),
    partition: { topic, partition: 0 },
  };
}
