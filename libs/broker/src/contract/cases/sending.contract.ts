import assert from 'node:assert/strict';
import { ClosedError, SendError } from '../../port/errors.js';
import type { OutgoingRecord } from '../../port/record.js';
import { numbered } from '../numbered.js';
import type { ContractSuite } from '../suite.js';
import type { World } from '../world.js';

export function sendingContract(suite: ContractSuite): void {
  results(suite);
  order(suite);
  ending(suite);
}

function results({ promise, needing }: ContractSuite): void {
  promise('gives one result per record, in the order of the call', async (world) => {
    const topic = await world.topic(2);
    const timestamp = world.runtime.now() - 5_000;
    const written = await world.send(
      [0, 1, 1, 0, 1].map((partition, index) => ({
        topic,
        partition,
        value: String(index),
        timestamp: timestamp + index,
      })),
    );
    assert.deepEqual(
      written.map((each) => [each.topic, each.partition, each.offset, each.timestamp - timestamp]),
      [
        [topic, 0, 0, 0],
        [topic, 1, 0, 1],
        [topic, 1, 1, 2],
        [topic, 0, 1, 3],
        [topic, 1, 2, 4],
      ],
    );
  });

  promise('writes to several topics in one call', async (world) => {
    const topics = [await world.topic(), await world.topic()];
    const written = await world.send(
      topics.map((topic) => ({ topic, partition: 0, value: 'same call' })),
    );
    assert.deepEqual(
      written.map(({ topic, offset }) => [topic, offset]),
      topics.map((topic) => [topic, 0]),
    );
  });

  promise('resolves for an empty list', async (world) => {
    assert.deepEqual(await world.send([]), []);
  });

  promise('has written what it resolves: a reader sees it at once', async (world) => {
    const topic = await world.topic();
    const elsewhere = (await world.process()).admin();
    for (const value of numbered(5)) {
      await world.write(topic, [value]);
      assert.equal((await elsewhere.watermarks(topic))[0]?.high, Number(value) + 1);
    }
  });

  for (const compression of ['gzip', 'snappy', 'lz4', 'zstd'] as const)
    needing(compression)(`gives the same results with ${compression}`, async (world) => {
      const topic = await world.topic();
      const producer = world.producer({ compression });
      const records = numbered(20).map((value) => ({ topic, partition: 0, value }));
      const written = await world.within(producer.send(records), 'the compressed records');
      assert.deepEqual(
        written.map(({ offset }) => offset),
        [...Array(20).keys()],
      );
    });
}

function order({ promise }: ContractSuite): void {
  promise('keeps the order of calls that do not wait for each other', async (world) => {
    const topic = await world.topic();
    const producer = world.producer();
    const sends = numbered(200).map((value) => producer.send([{ topic, partition: 0, value }]));
    const written = await world.within(Promise.all(sends), 'all sends');
    const offsets = written.map(([result]) => result?.offset);
    assert.deepEqual(offsets, [...Array(200).keys()]);
  });

  promise('keeps that order over many requests', async (world) => {
    const topic = await world.topic(2);
    const producer = world.producer({ batchBytes: 500, lingerMs: 0 });
    const sends = numbered(100).map((value) =>
      producer.send([0, 1].map((partition) => ({ topic, partition, value: value.repeat(20) }))),
    );
    const written = await world.within(Promise.all(sends), 'all sends');
    for (const partition of [0, 1])
      assert.deepEqual(
        written.map((pair) => pair[partition]?.offset),
        [...Array(100).keys()],
      );
  });

  promise('writes a long list once and in order', async (world) => {
    const topic = await world.topic();
    await world.write(topic, numbered(5_000));
    const member = await world.join({ topics: [topic] });
    assert.deepEqual(await member.readValues(5_000), numbered(5_000));
  });

  promise('writes more than its buffer holds', async (world) => {
    const topic = await world.topic();
    const producer = world.producer({ batchBytes: 4_000, bufferBytes: 20_000 });
    const sends = numbered(60).map((value) =>
      producer.send([{ topic, partition: 0, value: value.padEnd(1_000) }]),
    );
    const written = await world.within(Promise.all(sends), 'all sends');
    assert.deepEqual(
      written.map(([result]) => result?.offset),
      [...Array(60).keys()],
    );
  });
}

function ending({ promise }: ContractSuite): void {
  promise('close waits for what is under way', async (world) => {
    const topic = await world.topic();
    const producer = world.producer({ lingerMs: 200 });
    const sending = producer.send([record(topic)]);
    await world.within(producer.close(), 'the producer to close');
    assert.equal((await world.within(sending, 'the record'))[0]?.offset, 0);
  });

  promise('send after close rejects with ClosedError, and writes nothing', async (world) => {
    const topic = await world.topic();
    const producer = world.producer();
    await producer.close();
    await world.rejects(producer.send([record(topic)]), ClosedError);
    assert.equal((await world.admin.watermarks(topic))[0]?.high, 0);
  });

  promise('writes nothing when its signal was aborted before', async (world) => {
    const topic = await world.topic();
    const error = await world.rejects(
      world.producer().send([record(topic), record(topic)], { signal: AbortSignal.abort() }),
      SendError,
    );
    await assertNotWritten(world, error, topic, 2);
  });

  promise('gives up what has not left when its signal aborts', async (world) => {
    const topic = await world.topic();
    const abort = new AbortController();
    const producer = world.producer({ lingerMs: 10_000 });
    const sending = world.rejects(
      producer.send([record(topic)], { signal: abort.signal }),
      SendError,
    );
    await world.turn();
    abort.abort();
    await assertNotWritten(world, await sending, topic, 1);
  });

  promise('a call that aborts takes no other call with it', async (world) => {
    const topic = await world.topic();
    const abort = new AbortController();
    const producer = world.producer({ lingerMs: 200 });
    const aborted = world.failureOf(producer.send([record(topic)], { signal: abort.signal }));
    const kept = producer.send([record(topic)]);
    abort.abort();
    assert.equal((await world.within(kept, 'the other call'))[0]?.offset, 0);
    assert.ok((await world.within(aborted, 'the aborted call')) instanceof SendError);
  });
}

async function assertNotWritten(
  world: World,
  error: SendError,
  topic: string,
  count: number,
): Promise<void> {
  const states = error.outcomes.map(({ state }) => state);
  assert.deepEqual(states, Array<string>(count).fill('not-written'));
  assert.equal((await world.admin.watermarks(topic))[0]?.high, 0);
}

function record(topic: string): OutgoingRecord {
  return { topic, partition: 0, value: 'value' };
}
