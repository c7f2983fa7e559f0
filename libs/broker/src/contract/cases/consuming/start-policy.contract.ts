import assert from 'node:assert/strict';
import { NoOffsetError, OffsetOutOfRangeError } from '../../../port/errors.js';
import type { OffsetReset } from '../../../port/consumer.js';
import { Deferred } from '../../../runtime/waiting.js';
import { valueOf } from '../../member.js';
import { numbered } from '../../test-values.js';
import type { ContractSuite } from '../../contract-suite.js';
import type { CaseContext } from '../../case-context.js';

export function startPolicyContract(suite: ContractSuite): void {
  withoutCommittedOffset(suite);
  withCommittedOffset(suite);
  outOfRange(suite);
}

function withoutCommittedOffset({ testCase }: ContractSuite): void {
  for (const offsetReset of ['earliest', undefined] as const)
    testCase(
      `reading starts at the first record if no offset is committed: ${offsetReset ?? 'by default'}`,
      async (context) => {
        const topic = await context.topic();
        await context.write(topic, numbered(3));
        const member = await context.join({ topics: [topic], offsetReset });
        assert.deepEqual(member.assigned(), [
          { topic, partition: 0, position: 0, committed: null },
        ]);
        assert.deepEqual(await member.readValues(3), numbered(3));
      },
    );

  testCase(
    'reading starts after the last record if no offset is committed, with offsetReset latest',
    async (context) => {
      const topic = await context.topic();
      await context.write(topic, numbered(3));
      const member = await context.join({ topics: [topic], offsetReset: 'latest' });
      assert.equal(member.assigned()[0]?.position, 3);
      await context.write(topic, ['new']);
      assert.deepEqual(await member.readValues(1), ['new']);
    },
  );

  testCase(
    'the start position is stored for the next member with offsetReset latest, even if the first one leaves at once',
    async (context) => {
      const [topic, groupId] = [await context.topic(), context.name('group')];
      const options = { topics: [topic], groupId, offsetReset: 'latest' } as const;
      const gate = new Deferred();
      const on = { onAssigned: () => gate.promise };
      const member = context.member({ ...options, on, rebalanceTimeoutMs: 10_000 });
      const starting = context.failureOf(member.startWithoutDeadline());
      await context.eventually(
        'onAssigned is called',
        () => member.eventsOf('assigned').length > 0,
      );
      await context.write(topic, ['meanwhile']);
      const closing = member.close();
      await context.yieldToEventLoop();
      gate.resolve();
      await closing;
      await context.within(starting, 'the start to end');
      const next = await context.join(options);
      assert.deepEqual(await next.readValues(1), ['meanwhile']);
    },
  );

  testCase(
    'reading starts at the low watermark if no offset is committed, with offsetReset earliest',
    async (context) => {
      const topic = await context.topic();
      await context.write(topic, numbered(5));
      await context.admin.deleteRecords(topic, [{ partition: 0, offset: 2 }]);
      const member = await context.join({ topics: [topic] });
      assert.equal(member.assigned()[0]?.position, 2);
      assert.deepEqual(await member.readValues(3), ['2', '3', '4']);
    },
  );

  testCase(
    'a partition without a committed offset is stopped with offsetReset none, and the others are read',
    async (context) => {
      const [topic, groupId] = [await context.topic(2), context.name('group')];
      for (const partition of [0, 1]) await context.write(topic, numbered(3), partition);
      await context.admin.setGroupOffsets(groupId, [{ topic, partition: 1, offset: 1 }]);
      const member = await context.join({ topics: [topic], groupId, offsetReset: 'none' });
      const error = await member.stoppedError();
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
    },
  );

  testCase('a seek starts a partition that was stopped with offsetReset none', async (context) => {
    const topic = await context.topic();
    await context.write(topic, numbered(3));
    const member = await context.join({ topics: [topic], offsetReset: 'none' });
    await member.stoppedError();
    member.session.seek({ topic, partition: 0 }, 1);
    assert.deepEqual(await member.readValues(2), ['1', '2']);
  });
}

function withCommittedOffset({ testCase }: ContractSuite): void {
  for (const offsetReset of ['earliest', 'latest', 'none'] as const)
    testCase(
      `reading starts at the committed offset with offsetReset ${offsetReset}`,
      async (context) => {
        const { topic, groupId } = await committedAt(context, 2);
        const member = await context.join({ topics: [topic], groupId, offsetReset });
        assert.equal(member.assigned()[0]?.position, 2);
        assert.equal(member.assigned()[0]?.committed?.offset, 2);
        assert.deepEqual(await member.readValues(8), numbered(8, 2));
      },
    );

  testCase('reading starts at a committed offset that is the end of the log', async (context) => {
    const { topic, groupId } = await committedAt(context, 10);
    const member = await context.join({ topics: [topic], groupId, offsetReset: 'none' });
    await context.write(topic, ['next']);
    assert.deepEqual(await member.readValues(1), ['next']);
  });
}

function outOfRange({ testCase }: ContractSuite): void {
  testCase(
    'reading starts at the first record if the committed one was deleted, with offsetReset earliest',
    async (context) => {
      const member = await joinBehindTheLog(context, 'earliest');
      assert.deepEqual(await member.readValues(5), numbered(5, 5));
    },
  );

  testCase(
    'reading starts at the end of the log if the committed record was deleted, with offsetReset latest',
    async (context) => {
      const member = await joinBehindTheLog(context, 'latest');
      const [partition] = member.session.assignment();
      assert.ok(partition);
      const poll = member.session.poll(1);
      await context.eventually(
        'the position is the end of the log',
        () => member.session.position(partition) === 10,
      );
      await context.write(partition.topic, ['new']);
      assert.deepEqual((await context.within(poll, 'the new record')).map(valueOf), ['new']);
    },
  );

  testCase(
    'a partition is stopped if the committed record was deleted, with offsetReset none',
    async (context) => {
      const member = await joinBehindTheLog(context, 'none');
      const error = await member.stoppedError();
      assert.ok(error instanceof OffsetOutOfRangeError, `got ${String(error)}`);
      assert.deepEqual([error.offset, error.low, error.high], [2, 5, 10]);
      await context.staysPending(member.session.poll(1), 'A poll of a stopped partition');
    },
  );

  testCase(
    'a seek continues a partition whose offset was out of range, with offsetReset none',
    async (context) => {
      const member = await joinBehindTheLog(context, 'none');
      const { topic, partition } = await member.stoppedError();
      member.session.seek({ topic, partition }, 5);
      assert.deepEqual(await member.readValues(5), numbered(5, 5));
    },
  );

  testCase(
    'a partition is stopped if the committed offset is beyond the end of the log, with offsetReset none',
    async (context) => {
      const { topic, groupId } = await committedAt(context, 100);
      const member = await context.join({ topics: [topic], groupId, offsetReset: 'none' });
      const error = await member.stoppedError();
      assert.ok(error instanceof OffsetOutOfRangeError, `got ${String(error)}`);
      assert.deepEqual([error.offset, error.low, error.high], [100, 0, 10]);
    },
  );

  testCase(
    'reading starts at the first record if the committed offset is beyond the end of the log, with offsetReset earliest',
    async (context) => {
      const { topic, groupId } = await committedAt(context, 100);
      const member = await context.join({ topics: [topic], groupId, offsetReset: 'earliest' });
      assert.deepEqual(await member.readValues(10), numbered(10));
    },
  );

  testCase(
    'other partitions continue while the offset of one is out of range, with offsetReset none',
    async (context) => {
      const [topic, groupId] = [await context.topic(2), context.name('group')];
      for (const partition of [0, 1]) await context.write(topic, numbered(4), partition);
      const offsets = [0, 1].map((partition) => ({ topic, partition, offset: 1 }));
      await context.admin.setGroupOffsets(groupId, offsets);
      await context.admin.deleteRecords(topic, [{ partition: 0, offset: 3 }]);
      const member = await context.join({ topics: [topic], groupId, offsetReset: 'none' });
      const records = await member.read(3);
      assert.deepEqual([...new Set(records.map(({ partition }) => partition))], [1]);
      assert.equal((await member.stoppedError()).partition, 0);
    },
  );

  for (const offsetReset of ['earliest', 'none'] as const)
    testCase(
      `offsetReset ${offsetReset} also applies to records that are deleted during the session`,
      async (context) => {
        const { topic, groupId } = await committedAt(context, 0);
        const member = context.member({
          topics: [topic],
          groupId,
          offsetReset,
          on: { onAssigned: (partitions) => member.session.pause(partitions) },
        });
        await member.start();
        await context.admin.deleteRecords(topic, [{ partition: 0, offset: 6 }]);
        member.session.resume([{ topic, partition: 0 }]);
        if (offsetReset === 'none') assert.equal((await member.stoppedError()).offset, 0);
        else assert.deepEqual(await member.readValues(4), numbered(4, 6));
      },
    );
}

/** Creates ten records, and a group without members that has committed this offset. */
async function committedAt(
  context: CaseContext,
  offset: number,
): Promise<{ topic: string; groupId: string }> {
  const [topic, groupId] = [await context.topic(), context.name('group')];
  await context.write(topic, numbered(10));
  await context.admin.setGroupOffsets(groupId, [{ topic, partition: 0, offset }]);
  return { topic, groupId };
}

/** Joins with a committed offset of 2 while the log contains offsets 5 to 9. */
async function joinBehindTheLog(context: CaseContext, offsetReset: OffsetReset) {
  const { topic, groupId } = await committedAt(context, 2);
  await context.admin.deleteRecords(topic, [{ partition: 0, offset: 5 }]);
  return context.join({ topics: [topic], groupId, offsetReset });
}
