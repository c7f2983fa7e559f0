import assert from 'node:assert/strict';
import { numbered } from '../../test-values.js';
import { valueOf } from '../../member.js';
import { partitionName } from '../../../port/topic-partition.js';
import type { ContractSuite } from '../../contract-suite.js';

export function pausingContract({ testCase }: ContractSuite): void {
  testCase('returns no record of a paused partition, not even a buffered one', async (context) => {
    const topic = await context.topic(2);
    for (const partition of [0, 1]) await context.write(topic, numbered(20), partition);
    const member = await context.join({ topics: [topic] });
    const [first] = await member.read(1);
    assert.ok(first);
    const { partition } = first;
    member.session.pause([{ topic, partition }]);
    const others = await member.read(20);
    assert.deepEqual([...new Set(others.map((each) => each.partition))], [1 - partition]);
    assert.deepEqual(others.map(valueOf), numbered(20));
    await context.staysPending(member.session.poll(1), 'A poll with all else read');
  });

  testCase(
    'continues at the next record after resume, without loss or repetition',
    async (context) => {
      const topic = await context.topic();
      const partitions = [{ topic, partition: 0 }];
      await context.write(topic, numbered(100));
      const member = await context.join({ topics: [topic] });
      const values: (string | null)[] = [];
      while (values.length < 100) {
        values.push(...(await member.readValues(10)));
        member.session.pause(partitions);
        await context.yieldToEventLoop();
        member.session.resume(partitions);
      }
      assert.deepEqual(values, numbered(100));
    },
  );

  testCase('keeps its position if records arrive during the pause', async (context) => {
    const topic = await context.topic();
    const partitions = [{ topic, partition: 0 }];
    await context.write(topic, numbered(5));
    const member = await context.join({ topics: [topic] });
    await member.read(2);
    member.session.pause(partitions);
    assert.equal(member.session.position({ topic, partition: 0 }), 2);
    await context.write(topic, numbered(5, 5));
    member.session.resume(partitions);
    assert.deepEqual(await member.readValues(8), numbered(8, 2));
  });

  testCase('resume wakes a waiting poll', async (context) => {
    const topic = await context.topic();
    await context.write(topic, numbered(1));
    const member = context.member({
      topics: [topic],
      on: { onAssigned: (partitions) => member.session.pause(partitions) },
    });
    await member.start();
    const poll = member.session.poll(5);
    await context.staysPending(poll, 'A poll while all is paused');
    member.session.resume(member.session.assignment());
    assert.deepEqual((await context.within(poll, 'the resumed record')).map(valueOf), ['0']);
  });

  testCase('returns a resumed record at once although another fetch waits', async (context) => {
    const topic = await context.topic(2);
    const member = await context.join({ topics: [topic], fetch: { maxWaitMs: 8_000 } });
    const paused = { topic, partition: 0 };
    member.session.pause([paused]);
    await context.write(topic, ['other'], 1);
    await member.read(1);
    await context.write(topic, ['mine'], 0);
    const poll = member.session.poll(5);
    await context.staysPending(poll, 'A poll for the idle partition');
    const resumedAt = context.runtime.monotonic();
    member.session.resume([paused]);
    assert.deepEqual((await context.within(poll, 'the resumed record')).map(valueOf), ['mine']);
    const took = context.runtime.monotonic() - resumedAt;
    assert.ok(took < 2_000, `the first record came ${took} ms after the resume`);
  });

  testCase('paused() returns each paused partition once', async (context) => {
    const topic = await context.topic(2);
    const [one, other] = [
      { topic, partition: 0 },
      { topic, partition: 1 },
    ];
    const { session } = await context.join({ topics: [topic] });
    assert.deepEqual(session.paused(), []);
    session.pause([one, other]);
    session.pause([one]);
    assert.deepEqual(session.paused().map(partitionName).sort(), [`${topic}-0`, `${topic}-1`]);
    session.resume([one]);
    session.resume([one]);
    assert.deepEqual(session.paused().map(partitionName), [`${topic}-1`]);
  });

  testCase('a partition can be paused in onAssigned', async (context) => {
    const topic = await context.topic(2);
    for (const partition of [0, 1]) await context.write(topic, numbered(5), partition);
    const member = context.member({
      topics: [topic],
      on: { onAssigned: () => member.session.pause([{ topic, partition: 0 }]) },
    });
    await member.start();
    const records = await member.read(5);
    assert.deepEqual([...new Set(records.map(({ partition }) => partition))], [1]);
    await context.staysPending(member.session.poll(1), 'A poll with all else paused');
  });

  testCase(
    'a partition stays paused through a rebalance that does not move it',
    async (context) => {
      const [topic, groupId] = [await context.topic(2), context.name('group')];
      for (const partition of [0, 1]) await context.write(topic, numbered(5), partition);
      const member = await context.join({ topics: [topic], groupId });
      member.session.pause(member.session.assignment());
      const driver = await context.newProcess();
      await context.join({ topics: [topic], groupId, driver });
      await context.eventually(
        'the first member kept one partition',
        () => member.isStable() && member.session.assignment().length === 1,
      );
      const paused = member.session.paused().map(partitionName);
      assert.ok(member.owned().every((name) => paused.includes(name)));
      const poll = member.session.poll(1);
      await context.staysPending(poll, 'A poll of a partition paused before the rebalance');
      member.session.resume(member.session.assignment());
      assert.deepEqual((await context.within(poll, 'the resumed record')).map(valueOf), ['0']);
    },
  );
}
