import assert from 'node:assert/strict';
import { ClosedError, SendError } from '../../../port/errors.js';
import type { OutgoingRecord } from '../../../port/record.js';
import { numbered } from '../../test-values.js';
import type { ContractSuite } from '../../contract-suite.js';
import type { CaseContext } from '../../case-context.js';

export function sendingContract(suite: ContractSuite): void {
  results(suite);
  order(suite);
  ending(suite);
}

function results({ testCase, requiring }: ContractSuite): void {
  testCase('returns one result per record, in the order of the call', async (context) => {
    const topic = await context.topic(2);
    const timestamp = context.runtime.now() - 5_000;
    const written = await context.send(
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

  testCase('writes to several topics in one call', async (context) => {
    const topics = [await context.topic(), await context.topic()];
    const written = await context.send(
      topics.map((topic) => ({ topic, partition: 0, value: 'same call' })),
    );
    assert.deepEqual(
      written.map(({ topic, offset }) => [topic, offset]),
      topics.map((topic) => [topic, 0]),
    );
  });

  testCase('resolves for an empty list', async (context) => {
    assert.deepEqual(await context.send([]), []);
  });

  testCase('a resolved send is visible to a reader at once', async (context) => {
    const topic = await context.topic();
    const elsewhere = (await context.newProcess()).admin();
    for (const value of numbered(5)) {
      await context.write(topic, [value]);
      assert.equal((await elsewhere.watermarks(topic))[0]?.high, Number(value) + 1);
    }
  });

  for (const compression of ['gzip', 'snappy', 'lz4', 'zstd'] as const)
    requiring(compression)(`returns the same results with ${compression}`, async (context) => {
      const topic = await context.topic();
      const producer = context.producer({ compression });
      const records = numbered(20).map((value) => ({ topic, partition: 0, value }));
      const written = await context.within(producer.send(records), 'the compressed records');
      assert.deepEqual(
        written.map(({ offset }) => offset),
        [...Array(20).keys()],
      );
    });
}

function order({ testCase }: ContractSuite): void {
  testCase('keeps the order of parallel calls', async (context) => {
    const topic = await context.topic();
    const producer = context.producer();
    const sends = numbered(200).map((value) => producer.send([{ topic, partition: 0, value }]));
    const written = await context.within(Promise.all(sends), 'all sends');
    const offsets = written.map(([result]) => result?.offset);
    assert.deepEqual(offsets, [...Array(200).keys()]);
  });

  testCase('keeps the order of parallel calls over many requests', async (context) => {
    const topic = await context.topic(2);
    const producer = context.producer({ batchBytes: 500, lingerMs: 0 });
    const sends = numbered(100).map((value) =>
      producer.send([0, 1].map((partition) => ({ topic, partition, value: value.repeat(20) }))),
    );
    const written = await context.within(Promise.all(sends), 'all sends');
    for (const partition of [0, 1])
      assert.deepEqual(
        written.map((pair) => pair[partition]?.offset),
        [...Array(100).keys()],
      );
  });

  testCase('writes a long list once and in order', async (context) => {
    const topic = await context.topic();
    await context.write(topic, numbered(5_000));
    const member = await context.join({ topics: [topic] });
    assert.deepEqual(await member.readValues(5_000), numbered(5_000));
  });

  testCase('writes more records than its buffer holds', async (context) => {
    const topic = await context.topic();
    const producer = context.producer({ batchBytes: 4_000, bufferBytes: 20_000 });
    const sends = numbered(60).map((value) =>
      producer.send([{ topic, partition: 0, value: value.padEnd(1_000) }]),
    );
    const written = await context.within(Promise.all(sends), 'all sends');
    assert.deepEqual(
      written.map(([result]) => result?.offset),
      [...Array(60).keys()],
    );
  });
}

function ending({ testCase }: ContractSuite): void {
  testCase('close waits for pending sends', async (context) => {
    const topic = await context.topic();
    const producer = context.producer({ lingerMs: 200 });
    const sending = producer.send([record(topic)]);
    await context.within(producer.close(), 'the producer to close');
    assert.equal((await context.within(sending, 'the record'))[0]?.offset, 0);
  });

  testCase('send after close rejects with ClosedError, and writes nothing', async (context) => {
    const topic = await context.topic();
    const producer = context.producer();
    await producer.close();
    await context.rejects(producer.send([record(topic)]), ClosedError);
    assert.equal((await context.admin.watermarks(topic))[0]?.high, 0);
  });

  testCase('writes nothing if its signal was aborted before', async (context) => {
    const topic = await context.topic();
    const error = await context.rejects(
      context.producer().send([record(topic), record(topic)], { signal: AbortSignal.abort() }),
      SendError,
    );
    await assertNotWritten(context, error, topic, 2);
  });

  testCase('drops unsent records when its signal aborts', async (context) => {
    const topic = await context.topic();
    const abort = new AbortController();
    const producer = context.producer({ lingerMs: 10_000 });
    const sending = context.rejects(
      producer.send([record(topic)], { signal: abort.signal }),
      SendError,
    );
    await context.yieldToEventLoop();
    abort.abort();
    await assertNotWritten(context, await sending, topic, 1);
  });

  testCase('an aborted call does not cancel other calls', async (context) => {
    const topic = await context.topic();
    const abort = new AbortController();
    const producer = context.producer({ lingerMs: 200 });
    const aborted = context.failureOf(producer.send([record(topic)], { signal: abort.signal }));
    const kept = producer.send([record(topic)]);
    abort.abort();
    assert.equal((await context.within(kept, 'the other call'))[0]?.offset, 0);
    assert.ok((await context.within(aborted, 'the aborted call')) instanceof SendError);
  });
}

async function assertNotWritten(
  context: CaseContext,
  error: SendError,
  topic: string,
  count: number,
): Promise<void> {
  const states = error.outcomes.map(({ state }) => state);
  assert.deepEqual(states, Array<string>(count).fill('not-written'));
  assert.equal((await context.admin.watermarks(topic))[0]?.high, 0);
}

function record(topic: string): OutgoingRecord {
  return { topic, partition: 0, value: 'value' };
}
