import assert from 'node:assert/strict';
import { ClosedError } from '../../../port/errors.js';
import type { BrokerRecord } from '../../../port/record.js';
import { numbered } from '../../test-values.js';
import { valueOf } from '../../member.js';
import type { ContractSuite } from '../../contract-suite.js';

export function pollingContract({ testCase }: ContractSuite): void {
  testCase('returns at most the requested number of records, and never none', async (context) => {
    const topic = await context.topic();
    await context.write(topic, numbered(10));
    const member = await context.join({ topics: [topic] });
    const values: (string | null)[] = [];
    while (values.length < 10) {
      const records = await context.within(member.session.poll(3), 'records');
      assert.ok(records.length >= 1 && records.length <= 3, `got ${records.length}`);
      values.push(...records.map(valueOf));
    }
    assert.deepEqual(values, numbered(10));
  });

  testCase('returns no record after the one that reaches maxBytes', async (context) => {
    const topic = await context.topic(2);
    const large = 'x'.repeat(1_000);
    for (const partition of [0, 1]) await context.write(topic, Array(10).fill(large), partition);
    const member = await context.join({ topics: [topic] });
    const offsets = new Map<number, number[]>([
      [0, []],
      [1, []],
    ]);
    for (let count = 0; count < 20;) {
      const poll = member.session.poll(20, undefined, 2_500);
      const records = await context.within(poll, 'records');
      assert.ok(records.length >= 1 && records.length <= 3, `got ${records.length}`);
      for (const { partition, offset } of records) offsets.get(partition)?.push(offset);
      count += records.length;
    }
    for (const partition of [0, 1]) assert.deepEqual(offsets.get(partition), [...Array(10).keys()]);
  });

  testCase('returns one record even if it is larger than maxBytes', async (context) => {
    const topic = await context.topic();
    await context.write(topic, ['first', 'second']);
    const member = await context.join({ topics: [topic] });
    for (const value of ['first', 'second']) {
      const records = await context.within(member.session.poll(10, undefined, 1), 'a record');
      assert.deepEqual(records.map(valueOf), [value]);
    }
  });

  testCase(
    'returns the records of each partition together and in offset order',
    async (context) => {
      const topic = await context.topic(3);
      for (const partition of [0, 1, 2]) await context.write(topic, numbered(20), partition);
      const member = await context.join({ topics: [topic] });
      const offsets = new Map<number, number[]>();
      for (let count = 0; count < 60;) {
        const records = await context.within(member.session.poll(15), 'records');
        assertTogether(records);
        for (const { partition, offset } of records)
          offsets.set(partition, [...(offsets.get(partition) ?? []), offset]);
        count += records.length;
      }
      for (const partition of [0, 1, 2])
        assert.deepEqual(offsets.get(partition), [...Array(20).keys()]);
    },
  );

  testCase('returns the records of all topics', async (context) => {
    const [first, second] = [await context.topic(), await context.topic(2)];
    await context.write(first, ['a']);
    await context.write(second, ['b'], 1);
    const member = await context.join({ topics: [first, second] });
    const records = await member.read(2);
    const seen = records.map(({ topic, partition, value }) => [topic, partition, String(value)]);
    assert.deepEqual(
      seen.sort((one, other) => String(one[2]).localeCompare(String(other[2]))),
      [
        [first, 0, 'a'],
        [second, 1, 'b'],
      ],
    );
  });

  testCase('waits for records that do not exist yet', async (context) => {
    const topic = await context.topic();
    const member = await context.join({ topics: [topic] });
    const poll = member.session.poll(10);
    await context.staysPending(poll, 'A poll of an empty topic');
    await context.write(topic, ['late']);
    assert.deepEqual((await context.within(poll, 'the late record')).map(valueOf), ['late']);
  });

  testCase("rejects with the signal's reason, and the session continues", async (context) => {
    const topic = await context.topic();
    const member = await context.join({ topics: [topic] });
    const reason = new Error('enough');
    const abort = new AbortController();
    const poll = context.failureOf(member.session.poll(10, abort.signal));
    abort.abort(reason);
    assert.equal(await context.within(poll, 'the aborted poll'), reason);
    await context.write(topic, numbered(3));
    assert.deepEqual(await member.readValues(3), numbered(3));
  });

  testCase('takes no record if its signal was aborted before', async (context) => {
    const topic = await context.topic();
    await context.write(topic, numbered(2));
    const member = await context.join({ topics: [topic] });
    await member.read(1);
    const reason = new Error('already');
    const poll = context.failureOf(member.session.poll(10, AbortSignal.abort(reason)));
    assert.equal(await context.within(poll, 'the aborted poll'), reason);
    assert.deepEqual(await member.readValues(1), ['1']);
  });

  testCase('loses no record when polls are aborted while records arrive', async (context) => {
    const topic = await context.topic();
    const member = await context.join({ topics: [topic] });
    const values: (string | null)[] = [];
    for (const value of numbered(10)) {
      const abort = new AbortController();
      const poll = member.session.poll(10, abort.signal).catch(() => []);
      await context.write(topic, [value]);
      abort.abort();
      values.push(...(await context.within(poll, 'the aborted poll')).map(valueOf));
    }
    values.push(...(await member.readValues(10 - values.length)));
    assert.deepEqual(values, numbered(10));
  });

  testCase(
    'refuses a second call while one waits, and the first one continues',
    async (context) => {
      const topic = await context.topic();
      const member = await context.join({ topics: [topic] });
      const first = member.session.poll(10);
      await context.rejects(member.session.poll(10), Error, 'the second poll to be refused');
      await context.write(topic, ['for the first']);
      assert.deepEqual((await context.within(first, 'the first poll')).map(valueOf), [
        'for the first',
      ]);
    },
  );

  testCase('rejects a pending and any later call with ClosedError after close', async (context) => {
    const member = await context.join({ topics: [await context.topic()] });
    const pending = context.rejects(
      member.session.poll(10),
      ClosedError,
      'the pending poll to end',
    );
    await member.close();
    await pending;
    await context.rejects(member.session.poll(10), ClosedError);
  });

  testCase('the position is that of the next record', async (context) => {
    const topic = await context.topic();
    await context.write(topic, numbered(5));
    const member = await context.join({ topics: [topic] });
    assert.equal(member.session.position({ topic, partition: 0 }), 0);
    await member.read(3);
    assert.equal(member.session.position({ topic, partition: 0 }), 3);
    assert.equal(member.session.position({ topic, partition: 1 }), undefined);
    assert.equal(member.session.position({ topic: 'foreign', partition: 0 }), undefined);
  });
}

/** Asserts that the records of each partition are contiguous. */
function assertTogether(records: readonly BrokerRecord[]): void {
  const order = records.map(({ partition }) => partition);
  const runs = order.filter((partition, index) => partition !== order[index - 1]);
  assert.equal(runs.length, new Set(runs).size, `partitions came mixed: ${order.join(' ')}`);
}
