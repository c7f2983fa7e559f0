import assert from 'node:assert/strict';
import type { ReadRangeOptions } from '../../port/admin.js';
import { UnknownPartitionError, UnknownTopicError } from '../../port/errors.js';
import { numbered } from '../numbered.js';
import type { ContractSuite } from '../suite.js';
import type { World } from '../world.js';

export function readRangeContract(suite: ContractSuite): void {
  bounds(suite);
  ending(suite);
  transactions(suite);
}

function bounds({ promise }: ContractSuite): void {
  for (const [what, from, to, expected] of [
    ['exactly the offsets asked for', 3, 7, ['3', '4', '5', '6']],
    ['the end of the log when more is asked for', 7, 1_000, ['7', '8', '9']],
    ['nothing of an empty range', 4, 4, []],
    ['nothing of a range that runs backwards', 7, 3, []],
    ['nothing beyond the end', 50, 60, []],
    ['all, for ever', 0, Number.MAX_SAFE_INTEGER, numbered(10)],
  ] as const)
    promise(`reads ${what}`, async (world) => {
      const topic = await world.topic();
      await world.write(topic, numbered(10));
      assert.deepEqual(await range(world, topic, from, to), expected);
    });

  promise('starts at the first record there is', async (world) => {
    const topic = await world.topic();
    await world.write(topic, numbered(10));
    await world.admin.deleteRecords(topic, [{ partition: 0, offset: 6 }]);
    assert.deepEqual(await range(world, topic, 0, 8), ['6', '7']);
  });

  promise('reads thousands in order', async (world) => {
    const topic = await world.topic();
    await world.write(topic, numbered(3_000));
    assert.deepEqual(await range(world, topic, 500, 2_500), numbered(2_000, 500));
  });

  promise('gives records whole', async (world) => {
    const topic = await world.topic(2);
    const headers = [
      { key: 'a', value: '1' },
      { key: 'a', value: null },
    ];
    const timestamp = world.runtime.now() - 1_000;
    await world.send([{ topic, partition: 1, key: 'key', value: null, headers, timestamp }]);
    for await (const record of world.admin.readRange(topic, 1, 0, 1)) {
      assert.deepEqual([record.topic, record.partition, record.offset], [topic, 1, 0]);
      assert.deepEqual([String(record.key), record.value], ['key', null]);
      assert.equal(record.timestamp, timestamp);
      assert.deepEqual(
        record.headers.map(({ value }) => value?.toString() ?? null),
        ['1', null],
      );
    }
  });

  promise('joins no group and commits nothing', async (world) => {
    const topic = await world.topic();
    await world.write(topic, numbered(5));
    const before = new Set((await world.admin.groups()).map(({ groupId }) => groupId));
    await range(world, topic, 0, 5);
    const groups = (await world.admin.groups()).map(({ groupId }) => groupId);
    for (const groupId of groups.filter((each) => !before.has(each)))
      assert.deepEqual(await world.admin.groupOffsets(groupId, [topic]), []);
    // Other tests may make groups on the same cluster, but never ones without the suite's names.
    const unnamed = groups.filter((each) => !before.has(each) && each.includes(topic));
    assert.deepEqual(unnamed, []);
  });
}

function ending({ promise }: ContractSuite): void {
  promise('never waits for records that come after it has begun', async (world) => {
    const topic = await world.topic();
    await world.write(topic, numbered(3));
    const seen: string[] = [];
    const reading = async (): Promise<void> => {
      for await (const record of world.admin.readRange(topic, 0, 0, 100)) {
        seen.push(String(record.value));
        if (seen.length === 1) await world.write(topic, ['later']);
      }
    };
    await world.within(reading(), 'the range to end');
    assert.deepEqual(seen, numbered(3));
  });

  promise('can be left early, and read again', async (world) => {
    const topic = await world.topic();
    await world.write(topic, numbered(10));
    for await (const record of world.admin.readRange(topic, 0, 0, 10))
      if (record.offset === 2) break;
    assert.deepEqual(await range(world, topic, 0, 10), numbered(10));
  });

  promise('ends by its signal, with the reason', async (world) => {
    const topic = await world.topic();
    await world.write(topic, numbered(10));
    const [reason, abort] = [new Error('enough'), new AbortController()];
    const reading = async (): Promise<void> => {
      for await (const { offset } of world.admin.readRange(topic, 0, 0, 10, {
        signal: abort.signal,
      })) {
        assert.ok(offset <= 1, `got ${offset} after the abort`);
        if (offset === 1) abort.abort(reason);
      }
    };
    assert.equal(await world.within(world.failureOf(reading()), 'the range to end'), reason);
  });

  promise('several can run at the same time', async (world) => {
    const topic = await world.topic(2);
    for (const partition of [0, 1]) await world.write(topic, numbered(50), partition);
    const reads = [0, 1, 0, 1].map((partition) => range(world, topic, 10, 40, { partition }));
    for (const values of await Promise.all(reads)) assert.deepEqual(values, numbered(30, 10));
  });

  promise('knows no topic and no partition that does not exist', async (world) => {
    await world.rejects(range(world, world.name('missing'), 0, 1), UnknownTopicError);
    const beyond = range(world, await world.topic(), 0, 1, { partition: 9 });
    await world.rejects(beyond, UnknownPartitionError);
  });
}

function transactions({ needing }: ContractSuite): void {
  const promise = needing('openTransaction');

  promise('leaves out aborted records, and ends though they are the last', async (world) => {
    const topic = await world.topic();
    await world.write(topic, ['good']);
    await (await begun(world, topic, 'gone')).abort();
    assert.deepEqual(await range(world, topic, 0, 100), ['good']);
    const all = await range(world, topic, 0, 100, { isolation: 'read_uncommitted' });
    assert.deepEqual(all, ['good', 'gone']);
  });

  promise('ends at the watermark, which counts open records too', async (world) => {
    const topic = await world.topic();
    await world.write(topic, ['good']);
    const open = await begun(world, topic, 'open');
    assert.deepEqual(await world.admin.watermarks(topic), [{ partition: 0, low: 0, high: 2 }]);
    await open.abort();
  });

  promise('does not wait for an open transaction', async (world) => {
    const topic = await world.topic();
    await world.write(topic, ['good']);
    const open = await begun(world, topic, 'open');
    await world.write(topic, ['behind']);
    assert.deepEqual(await range(world, topic, 0, 100), ['good']);
    await open.abort();
  });
}

async function begun(world: World, topic: string, value: string) {
  const transaction = await world.within(world.ability('openTransaction')(), 'a transaction');
  await transaction.send([{ topic, partition: 0, value }]);
  return transaction;
}

function range(
  world: World,
  topic: string,
  from: number,
  to: number,
  { partition = 0, ...options }: ReadRangeOptions & { readonly partition?: number } = {},
): Promise<string[]> {
  const reading = async (): Promise<string[]> => {
    const values: string[] = [];
    for await (const record of world.admin.readRange(topic, partition, from, to, options))
      values.push(String(record.value));
    return values;
  };
  return world.within(reading(), `the range from ${from} to ${to}`);
}
