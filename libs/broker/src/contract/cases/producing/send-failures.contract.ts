import assert from 'node:assert/strict';
import {
  RecordTooLargeError,
  SendError,
  UnknownPartitionError,
  UnknownTopicError,
} from '../../../port/errors.js';
import type { RecordOutcome } from '../../../port/record.js';
import { valueOf } from '../../member.js';
import type { ContractSuite } from '../../contract-suite.js';
import type { CaseContext } from '../../case-context.js';

export function sendFailuresContract(suite: ContractSuite): void {
  unknownPartitions(suite);
  tooLargeRecords(suite);
  faults(suite);
}

function unknownPartitions({ testCase }: ContractSuite): void {
  testCase(
    'a send to an unknown partition fails only that record, and the others are written',
    async (context) => {
      const topic = await context.topic(2);
      const error = await context.rejects(
        context.producer().send(
          [0, 7, 1].map((partition) => ({ topic, partition, value: 'v' })),
          { timeoutMs: 1_000 },
        ),
        SendError,
      );
      assert.deepEqual(states(error), ['written', 'not-written', 'written']);
      assert.ok(errorOf(error.outcomes[1]) instanceof UnknownPartitionError);
    },
  );

  testCase('a send to an unknown topic fails within the deadline', async (context) => {
    const [topic, missing] = [await context.topic(), context.name('missing')];
    const before = context.runtime.monotonic();
    const error = await context.rejects(
      context.producer().send(
        [
          { topic: missing, value: 'v' },
          { topic, value: 'v' },
        ],
        { timeoutMs: 600 },
      ),
      SendError,
    );
    const took = context.runtime.monotonic() - before;
    assert.ok(took < 4_000, `it took ${took} ms`);
    assert.deepEqual(states(error), ['not-written', 'written']);
    const cause = errorOf(error.outcomes[0]);
    assert.ok(cause instanceof UnknownTopicError && cause.topic === missing, String(cause));
    assert.deepEqual(await context.admin.topics([missing]), []);
  });

  testCase('an unknown topic fails early if the producer does not wait for it', async (context) => {
    const [topic, missing] = [await context.topic(), context.name('missing')];
    const producer = context.producer({ missingTopicTimeoutMs: 300 });
    const before = context.runtime.monotonic();
    const error = await context.rejects(
      producer.send([
        { topic: missing, value: 'v' },
        { topic, value: 'v' },
      ]),
      SendError,
    );
    const took = context.runtime.monotonic() - before;
    assert.ok(took >= 300 && took < 10_000, `it took ${took} ms`);
    assert.deepEqual(states(error), ['not-written', 'written']);
    assert.ok(errorOf(error.outcomes[0]) instanceof UnknownTopicError);
  });

  testCase(
    'a topic that was deleted under its producer fails early if the producer does not wait for it',
    async (context) => {
      const topic = await context.topic();
      const producer = context.producer({ missingTopicTimeoutMs: 300 });
      await context.within(producer.send([{ topic, value: 'v' }]), 'the first record');
      // Another process deletes the topic, so that the metadata of the producer are outdated.
      const other = await context.newProcess();
      await other.admin().deleteTopics([topic]);
      const before = context.runtime.monotonic();
      const error = await context.rejects(producer.send([{ topic, value: 'v' }]), SendError);
      const took = context.runtime.monotonic() - before;
      assert.ok(took < 10_000, `it took ${took} ms`);
      const cause = errorOf(error.outcomes[0]);
      assert.ok(cause instanceof UnknownTopicError && cause.topic === topic, String(cause));
    },
  );

  testCase(
    'a send to a missing topic succeeds if the topic is created before the deadline',
    async (context) => {
      const topic = context.name('created-later');
      const sending = context.producer().send([{ topic, value: 'patient' }]);
      await context.staysPending(sending, 'A send to a missing topic');
      await context.admin.createTopics([{ name: topic, partitions: 1 }]);
      const [written] = await context.within(sending, 'the record');
      assert.deepEqual([written?.topic, written?.offset], [topic, 0]);
    },
  );
}

function tooLargeRecords({ testCase }: ContractSuite): void {
  testCase("a record above the topic's size limit fails alone", async (context) => {
    const topic = await context.topic(1, { 'max.message.bytes': '2000' });
    const error = await sendSizes(context, topic, [10, 5_000, 20], {});
    assert.deepEqual(states(error), ['written', 'not-written', 'written']);
    assert.ok(errorOf(error.outcomes[1]) instanceof RecordTooLargeError);
    assert.deepEqual(await lengthsIn(context, topic), [10, 20]);
  });

  testCase(
    'small records are all written even if their batch exceeds the size limit',
    async (context) => {
      const topic = await context.topic(1, { 'max.message.bytes': '2000' });
      await context.write(
        topic,
        Array.from({ length: 30 }, () => 'x'.repeat(300)),
      );
      assert.equal((await context.admin.watermarks(topic))[0]?.high, 30);
    },
  );

  testCase(
    "a record above the producer's own size limit fails alone, and is never sent",
    async (context) => {
      const topic = await context.topic();
      const options = { batchBytes: 1_000, maxRequestBytes: 4_000 };
      const error = await sendSizes(context, topic, [10, 8_000, 20], options);
      assert.deepEqual(states(error), ['written', 'not-written', 'written']);
      assert.ok(errorOf(error.outcomes[1]) instanceof RecordTooLargeError);
      assert.equal(error.retriable, false);
      assert.deepEqual(await lengthsIn(context, topic), [10, 20]);
    },
  );

  testCase('the outcomes of a failed send have the same order as its records', async (context) => {
    const [small, topic] = [
      await context.topic(1, { 'max.message.bytes': '2000' }),
      await context.topic(1),
    ];
    const records = [
      { topic: small, partition: 0, value: 'x'.repeat(5_000) },
      { topic, partition: 0, value: 'a' },
      { topic, partition: 3, value: 'b' },
      { topic: small, partition: 0, value: 'c' },
      { topic, partition: 0, value: 'd' },
    ];
    const sending = context.producer().send(records, { timeoutMs: 1_000 });
    const { outcomes } = await context.rejects(sending, SendError);
    const reported = outcomes.map((each) =>
      each.state === 'written' ? `${each.topic}@${each.offset}` : `${each.topic} ${each.state}`,
    );
    assert.deepEqual(reported, [
      `${small} not-written`,
      `${topic}@0`,
      `${topic} not-written`,
      `${small}@0`,
      `${topic}@1`,
    ]);
  });
}

function faults({ requiring }: ContractSuite): void {
  requiring('refuseWrites')(
    'a record that the broker refuses until the deadline is reported as not-written',
    async (context) => {
      const topic = await context.topic();
      const allow = await context.ability('refuseWrites')(topic);
      const error = await context.rejects(
        context.producer().send([{ topic, value: 'v' }], { timeoutMs: 700 }),
        SendError,
      );
      assert.deepEqual([states(error), error.retriable], [['not-written'], true]);
      await allow();
      assert.equal((await context.admin.watermarks(topic))[0]?.high, 0);
    },
  );

  requiring('refuseWrites')(
    'a record that the broker refuses for a while is written once, in order',
    async (context) => {
      const topic = await context.topic();
      const producer = context.producer();
      const allow = await context.ability('refuseWrites')(topic);
      const sends = ['a', 'b', 'c'].map((value) => producer.send([{ topic, value }]));
      await context.staysPending(Promise.race(sends), 'A refused send');
      await allow();
      await context.within(Promise.all(sends), 'the sends, once allowed');
      const member = await context.join({ topics: [topic] });
      assert.deepEqual(await member.readValues(3), ['a', 'b', 'c']);
      assert.equal((await context.admin.watermarks(topic))[0]?.high, 3);
    },
  );

  requiring('loseAnswers')(
    'a record is reported as unknown if every response is lost until the deadline',
    async (context) => {
      const { topic, outcome, high } = await sendWithoutAnswer(context);
      assert.equal(outcome?.state, 'unknown');
      assert.equal(outcome?.topic, topic);
      assert.ok(high >= 2, 'the record is in the log');
    },
  );

  requiring('loseAnswers', 'idempotent sends')(
    'a record is written once, even if it is sent again after a lost response',
    async (context) => {
      assert.equal((await sendWithoutAnswer(context)).high, 2);
    },
  );

  requiring('loseAnswers')(
    'the next record is written after a record with an unknown outcome',
    async (context) => {
      const { topic, producer, allow, high } = await sendWithoutAnswer(context);
      await allow();
      const sending = producer.send([{ topic, partition: 0, value: 'next' }]);
      const [written] = await context.within(sending, 'the record after the unknown one');
      assert.ok((written?.offset ?? -1) >= high, 'the record has its own offset');
      const member = await context.join({ topics: [topic] });
      const values = await member.readValues((written?.offset ?? 0) + 1);
      assert.equal(values.at(-1), 'next');
    },
  );

  requiring('delayAnswers')('a response after the deadline changes no outcome', async (context) => {
    const topic = await context.topic();
    const driver = await context.newProcess();
    const producer = driver.producer();
    const undo = await context.ability('delayAnswers')(driver, 200);
    const sends = [0, 1, 2].map((index) => producer.send([{ topic, value: String(index) }]));
    const written = await context.within(Promise.all(sends), 'the late responses');
    await undo();
    assert.deepEqual(
      written.map(([result]) => result?.offset),
      [0, 1, 2],
    );
  });

  requiring('unplug')(
    'a record is reported as not-written if no broker is reachable until the deadline',
    async (context) => {
      const topic = await context.topic();
      const driver = await context.newProcess();
      const producer = driver.producer();
      await context.ability('unplug')(driver);
      const error = await context.rejects(
        producer.send([{ topic, value: 'v' }], { timeoutMs: 700 }),
        SendError,
      );
      assert.deepEqual([states(error), error.retriable], [['not-written'], true]);
    },
  );

  requiring('unplug')('close rejects the sends that cannot be completed', async (context) => {
    const topic = await context.topic();
    const driver = await context.newProcess();
    const producer = driver.producer({ deliveryTimeoutMs: 3_000 });
    await context.ability('unplug')(driver);
    const sending = context.rejects(producer.send([{ topic, value: 'v' }]), SendError);
    await context.within(producer.close(), 'the producer to close');
    await sending;
  });
}

/**
 * Sends a first record that is acknowledged, so that the driver knows the leader of the second
 * record's partition.
 */
async function sendWithoutAnswer(context: CaseContext) {
  const topic = await context.topic();
  const driver = await context.newProcess();
  const producer = driver.producer({ requestTimeoutMs: 400, deliveryTimeoutMs: 10_000 });
  const record = { topic, partition: 0, value: 'v' };
  await context.within(producer.send([record]), 'an acknowledged record');
  const allow = await context.ability('loseAnswers')(driver);
  const sending = producer.send([record], { timeoutMs: 1_000 });
  const { outcomes } = await context.rejects(sending, SendError);
  const [watermarks] = await context.admin.watermarks(topic);
  return { topic, producer, allow, outcome: outcomes[0], high: watermarks?.high ?? 0 };
}

async function sendSizes(
  context: CaseContext,
  topic: string,
  sizes: readonly number[],
  options: { readonly batchBytes?: number; readonly maxRequestBytes?: number },
): Promise<SendError> {
  const records = sizes.map((size) => ({ topic, partition: 0, value: 'x'.repeat(size) }));
  return context.rejects(context.producer(options).send(records), SendError);
}

async function lengthsIn(context: CaseContext, topic: string): Promise<(number | undefined)[]> {
  const [watermarks] = await context.admin.watermarks(topic);
  const records = await (await context.join({ topics: [topic] })).read(watermarks?.high ?? 0);
  return records.map((record) => valueOf(record)?.length);
}

function states(error: SendError): string[] {
  return error.outcomes.map(({ state }) => state);
}

function errorOf(outcome: RecordOutcome | undefined): Error | undefined {
  return outcome && outcome.state !== 'written' ? outcome.error : undefined;
}
