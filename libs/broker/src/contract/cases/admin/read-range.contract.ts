import assert from 'node:assert/strict';
import type { ReadRangeOptions } from '../../../port/admin.js';
import { UnknownPartitionError, UnknownTopicError } from '../../../port/errors.js';
import { numbered } from '../../test-values.js';
import type { ContractSuite } from '../../contract-suite.js';
import type { CaseContext } from '../../case-context.js';

export function readRangeContract(suite: ContractSuite): void {
  bounds(suite);
  ending(suite);
  transactions(suite);
}

function bounds({ testCase }: ContractSuite): void {
  for (const [what, from, to, expected] of [
    ['exactly the requested offsets', 3, 7, ['3', '4', '5', '6']],
    ['up to the end of the log if more is requested', 7, 1_000, ['7', '8', '9']],
    ['nothing for an empty range', 4, 4, []],
    ['nothing for a reversed range', 7, 3, []],
    ['nothing beyond the end of the log', 50, 60, []],
    ['everything without an upper limit', 0, Number.MAX_SAFE_INTEGER, numbered(10)],
  ] as const)
    testCase(`reads ${what}`, async (context) => {
      const topic = await context.topic();
      await context.write(topic, numbered(10));
      assert.deepEqual(await readRange(context, topic, from, to), expected);
    });

  testCase('starts at the first existing record', async (context) => {
    const topic = await context.topic();
    await context.write(topic, numbered(10));
    await context.admin.deleteRecords(topic, [{ partition: 0, offset: 6 }]);
    assert.deepEqual(await readRange(context, topic, 0, 8), ['6', '7']);
  });

  testCase('reads thousands of records in order', async (context) => {
    const topic = await context.topic();
    await context.write(topic, numbered(3_000));
    assert.deepEqual(await readRange(context, topic, 500, 2_500), numbered(2_000, 500));
  });

  testCase('returns records with key, value, headers and timestamp', async (context) => {
    const topic = await context.topic(2);
    const headers = [
      { key: 'a', value: '1' },
      { key: 'a', value: null },
    ];
    const timestamp = context.runtime.now() - 1_000;
    await context.send([{ topic, partition: 1, key: 'key', value: null, headers, timestamp }]);
    for await (const record of context.admin.readRange(topic, 1, 0, 1)) {
      assert.deepEqual([record.topic, record.partition, record.offset], [topic, 1, 0]);
      assert.deepEqual([String(record.key), record.value], ['key', null]);
      assert.equal(record.timestamp, timestamp);
      assert.deepEqual(
        record.headers.map(({ value }) => value?.toString() ?? null),
        ['1', null],
      );
    }
  });

  testCase('joins no group and commits nothing', async (context) => {
    const topic = await context.topic();
    await context.write(topic, numbered(5));
    const before = new Set((await context.admin.groups()).map(({ groupId }) => groupId));
    await readRange(context, topic, 0, 5);
    const groups = (await context.admin.groups()).map(({ groupId }) => groupId);
    for (const groupId of groups.filter((each) => !before.has(each)))
      assert.deepEqual(await context.admin.groupOffsets(groupId, [topic]), []);
    // Other tests may create groups on the same cluster, but only with names of the suite.
    const unnamed = groups.filter((each) => !before.has(each) && each.includes(topic));
    assert.deepEqual(unnamed, []);
  });
}

function ending({ testCase }: ContractSuite): void {
  testCase('never waits for records written after the start of the call', async (context) => {
    const topic = await context.topic();
    await context.write(topic, numbered(3));
    const seen: string[] = [];
    const reading = async (): Promise<void> => {
      for await (const record of context.admin.readRange(topic, 0, 0, 100)) {
        seen.push(String(record.value));
        if (seen.length === 1) await context.write(topic, ['later']);
      }
    };
    await context.within(reading(), 'the range to end');
    assert.deepEqual(seen, numbered(3));
  });

  testCase('can be ended early and started again', async (context) => {
    const topic = await context.topic();
    await context.write(topic, numbered(10));
    for await (const record of context.admin.readRange(topic, 0, 0, 10))
      if (record.offset === 2) break;
    assert.deepEqual(await readRange(context, topic, 0, 10), numbered(10));
  });

  testCase('ends with the reason of its signal', async (context) => {
    const topic = await context.topic();
    await context.write(topic, numbered(10));
    const [reason, abort] = [new Error('enough'), new AbortController()];
    const reading = async (): Promise<void> => {
      for await (const { offset } of context.admin.readRange(topic, 0, 0, 10, {
        signal: abort.signal,
      })) {
        assert.ok(offset <= 1, `got ${offset} after the abort`);
        if (offset === 1) abort.abort(reason);
      }
    };
    assert.equal(await context.within(context.failureOf(reading()), 'the range to end'), reason);
  });

  testCase('can run several times in parallel', async (context) => {
    const topic = await context.topic(2);
    for (const partition of [0, 1]) await context.write(topic, numbered(50), partition);
    const reads = [0, 1, 0, 1].map((partition) => readRange(context, topic, 10, 40, { partition }));
    for (const values of await Promise.all(reads)) assert.deepEqual(values, numbered(30, 10));
  });

  testCase('rejects a topic or partition that does not exist', async (context) => {
    await context.rejects(readRange(context, context.name('missing'), 0, 1), UnknownTopicError);
    const beyond = readRange(context, await context.topic(), 0, 1, { partition: 9 });
    await context.rejects(beyond, UnknownPartitionError);
  });
}

function transactions({ requiring }: ContractSuite): void {
  const testCase = requiring('openTransaction');

  testCase('skips aborted records, and ends even if they are the last', async (context) => {
    const topic = await context.topic();
    await context.write(topic, ['good']);
    await (await openTransactionWith(context, topic, 'gone')).abort();
    assert.deepEqual(await readRange(context, topic, 0, 100), ['good']);
    const all = await readRange(context, topic, 0, 100, { isolation: 'read_uncommitted' });
    assert.deepEqual(all, ['good', 'gone']);
  });

  testCase(
    'ends at the high watermark with read_uncommitted, including open records',
    async (context) => {
      const topic = await context.topic();
      await context.write(topic, ['good']);
      const open = await openTransactionWith(context, topic, 'open');
      assert.deepEqual(await context.admin.watermarks(topic), [{ partition: 0, low: 0, high: 2 }]);
      await open.abort();
    },
  );

  testCase('does not wait for an open transaction', async (context) => {
    const topic = await context.topic();
    await context.write(topic, ['good']);
    const open = await openTransactionWith(context, topic, 'open');
    await context.write(topic, ['behind']);
    assert.deepEqual(await readRange(context, topic, 0, 100), ['good']);
    await open.abort();
  });
}

async function openTransactionWith(context: CaseContext, topic: string, value: string) {
  const transaction = await context.within(context.ability('openTransaction')(), 'a transaction');
  await transaction.send([{ topic, partition: 0, value }]);
  return transaction;
}

function readRange(
  context: CaseContext,
  topic: string,
  from: number,
  to: number,
  { partition = 0, ...options }: ReadRangeOptions & { readonly partition?: number } = {},
): Promise<string[]> {
  const reading = async (): Promise<string[]> => {
    const values: string[] = [];
    for await (const record of context.admin.readRange(topic, partition, from, to, options))
      values.push(String(record.value));
    return values;
  };
  return context.within(reading(), `the range from ${from} to ${to}`);
}
