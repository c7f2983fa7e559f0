import assert from 'node:assert/strict';
import {
  RecordTooLargeError,
  SendError,
  UnknownPartitionError,
  UnknownTopicError,
} from '../../port/errors.js';
import type { RecordOutcome } from '../../port/record.js';
import { valueOf } from '../member.js';
import type { ContractSuite } from '../suite.js';
import type { World } from '../world.js';

export function sendFailuresContract(suite: ContractSuite): void {
  unknownPlaces(suite);
  tooLarge(suite);
  faults(suite);
}

function unknownPlaces({ promise }: ContractSuite): void {
  promise('an unknown partition is told, and its companions are written', async (world) => {
    const topic = await world.topic(2);
    const error = await world.rejects(
      world.producer().send(
        [0, 7, 1].map((partition) => ({ topic, partition, value: 'v' })),
        { timeoutMs: 1_000 },
      ),
      SendError,
    );
    assert.deepEqual(states(error), ['written', 'not-written', 'written']);
    assert.ok(errorOf(error.outcomes[1]) instanceof UnknownPartitionError);
  });

  promise('an unknown topic is told within the deadline', async (world) => {
    const [topic, missing] = [await world.topic(), world.name('missing')];
    const before = world.runtime.monotonic();
    const error = await world.rejects(
      world.producer().send(
        [
          { topic: missing, value: 'v' },
          { topic, value: 'v' },
        ],
        { timeoutMs: 600 },
      ),
      SendError,
    );
    const took = world.runtime.monotonic() - before;
    assert.ok(took < 4_000, `it took ${took} ms`);
    assert.deepEqual(states(error), ['not-written', 'written']);
    const cause = errorOf(error.outcomes[0]);
    assert.ok(cause instanceof UnknownTopicError && cause.topic === missing, String(cause));
    assert.deepEqual(await world.admin.topics([missing]), []);
  });

  promise('a topic that is created before the deadline gets its record', async (world) => {
    const topic = world.name('created-later');
    const sending = world.producer().send([{ topic, value: 'patient' }]);
    await world.staysPending(sending, 'A send to a missing topic');
    await world.admin.createTopics([{ name: topic, partitions: 1 }]);
    const [written] = await world.within(sending, 'the record');
    assert.deepEqual([written?.topic, written?.offset], [topic, 0]);
  });
}

function tooLarge({ promise }: ContractSuite): void {
  promise('a record too large for the topic fails alone', async (world) => {
    const topic = await world.topic(1, { 'max.message.bytes': '2000' });
    const error = await sendSizes(world, topic, [10, 5_000, 20], {});
    assert.deepEqual(states(error), ['written', 'not-written', 'written']);
    assert.ok(errorOf(error.outcomes[1]) instanceof RecordTooLargeError);
    assert.deepEqual(await lengthsIn(world, topic), [10, 20]);
  });

  promise('small records that fill a batch beyond the limit are all written', async (world) => {
    const topic = await world.topic(1, { 'max.message.bytes': '2000' });
    await world.write(
      topic,
      Array.from({ length: 30 }, () => 'x'.repeat(300)),
    );
    assert.equal((await world.admin.watermarks(topic))[0]?.high, 30);
  });

  promise("a record beyond the sender's own bound fails alone, and never leaves", async (world) => {
    const topic = await world.topic();
    const options = { batchBytes: 1_000, maxRequestBytes: 4_000 };
    const error = await sendSizes(world, topic, [10, 8_000, 20], options);
    assert.deepEqual(states(error), ['written', 'not-written', 'written']);
    assert.ok(errorOf(error.outcomes[1]) instanceof RecordTooLargeError);
    assert.equal(error.retriable, false);
    assert.deepEqual(await lengthsIn(world, topic), [10, 20]);
  });

  promise('each outcome stands at the place of its record', async (world) => {
    const [small, topic] = [
      await world.topic(1, { 'max.message.bytes': '2000' }),
      await world.topic(1),
    ];
    const records = [
      { topic: small, partition: 0, value: 'x'.repeat(5_000) },
      { topic, partition: 0, value: 'a' },
      { topic, partition: 3, value: 'b' },
      { topic: small, partition: 0, value: 'c' },
      { topic, partition: 0, value: 'd' },
    ];
    const sending = world.producer().send(records, { timeoutMs: 1_000 });
    const { outcomes } = await world.rejects(sending, SendError);
    const told = outcomes.map((each) =>
      each.state === 'written' ? `${each.topic}@${each.offset}` : `${each.topic} ${each.state}`,
    );
    assert.deepEqual(told, [
      `${small} not-written`,
      `${topic}@0`,
      `${topic} not-written`,
      `${small}@0`,
      `${topic}@1`,
    ]);
  });
}

function faults({ needing }: ContractSuite): void {
  needing('refuseWrites')('refused until the deadline: not written', async (world) => {
    const topic = await world.topic();
    const allow = await world.ability('refuseWrites')(topic);
    const error = await world.rejects(
      world.producer().send([{ topic, value: 'v' }], { timeoutMs: 700 }),
      SendError,
    );
    assert.deepEqual([states(error), error.retriable], [['not-written'], true]);
    await allow();
    assert.equal((await world.admin.watermarks(topic))[0]?.high, 0);
  });

  needing('refuseWrites')('refused for a while: written once, in order', async (world) => {
    const topic = await world.topic();
    const producer = world.producer();
    const allow = await world.ability('refuseWrites')(topic);
    const sends = ['a', 'b', 'c'].map((value) => producer.send([{ topic, value }]));
    await world.staysPending(Promise.race(sends), 'A refused send');
    await allow();
    await world.within(Promise.all(sends), 'the sends, once allowed');
    const member = await world.join({ topics: [topic] });
    assert.deepEqual(await member.readValues(3), ['a', 'b', 'c']);
    assert.equal((await world.admin.watermarks(topic))[0]?.high, 3);
  });

  needing('loseAnswers')('written, but never answered: unknown', async (world) => {
    const { topic, outcome, high } = await sendWithoutAnswer(world);
    assert.equal(outcome?.state, 'unknown');
    assert.equal(outcome?.topic, topic);
    assert.ok(high >= 2, 'the record is in the log');
  });

  needing('loseAnswers', 'idempotent sends')('a retry writes nothing twice', async (world) => {
    assert.equal((await sendWithoutAnswer(world)).high, 2);
  });

  needing('loseAnswers')('after an unknown fate the next record is written', async (world) => {
    const { topic, producer, allow, high } = await sendWithoutAnswer(world);
    await allow();
    const sending = producer.send([{ topic, partition: 0, value: 'next' }]);
    const [written] = await world.within(sending, 'the record after the unknown one');
    assert.ok((written?.offset ?? -1) >= high, 'it has a place of its own');
    const member = await world.join({ topics: [topic] });
    const values = await member.readValues((written?.offset ?? 0) + 1);
    assert.equal(values.at(-1), 'next');
  });

  needing('delayAnswers')('late answers change nothing', async (world) => {
    const topic = await world.topic();
    const driver = await world.process();
    const producer = driver.producer();
    const undo = await world.ability('delayAnswers')(driver, 200);
    const sends = [0, 1, 2].map((index) => producer.send([{ topic, value: String(index) }]));
    const written = await world.within(Promise.all(sends), 'the late answers');
    await undo();
    assert.deepEqual(
      written.map(([result]) => result?.offset),
      [0, 1, 2],
    );
  });

  needing('unplug')('no broker until the deadline: not written', async (world) => {
    const topic = await world.topic();
    const driver = await world.process();
    const producer = driver.producer();
    await world.ability('unplug')(driver);
    const error = await world.rejects(
      producer.send([{ topic, value: 'v' }], { timeoutMs: 700 }),
      SendError,
    );
    assert.deepEqual([states(error), error.retriable], [['not-written'], true]);
  });

  needing('unplug')('close ends what cannot be finished', async (world) => {
    const topic = await world.topic();
    const driver = await world.process();
    const producer = driver.producer({ deliveryTimeoutMs: 3_000 });
    await world.ability('unplug')(driver);
    const sending = world.rejects(producer.send([{ topic, value: 'v' }]), SendError);
    await world.within(producer.close(), 'the producer to close');
    await sending;
  });
}

/** The first record of its partition is answered, so that the driver knows where to send the second. */
async function sendWithoutAnswer(world: World) {
  const topic = await world.topic();
  const driver = await world.process();
  const producer = driver.producer({ requestTimeoutMs: 400, deliveryTimeoutMs: 10_000 });
  const record = { topic, partition: 0, value: 'v' };
  await world.within(producer.send([record]), 'a record that is answered');
  const allow = await world.ability('loseAnswers')(driver);
  const sending = producer.send([record], { timeoutMs: 1_000 });
  const { outcomes } = await world.rejects(sending, SendError);
  const [watermarks] = await world.admin.watermarks(topic);
  return { topic, producer, allow, outcome: outcomes[0], high: watermarks?.high ?? 0 };
}

async function sendSizes(
  world: World,
  topic: string,
  sizes: readonly number[],
  options: { readonly batchBytes?: number; readonly maxRequestBytes?: number },
): Promise<SendError> {
  const records = sizes.map((size) => ({ topic, partition: 0, value: 'x'.repeat(size) }));
  return world.rejects(world.producer(options).send(records), SendError);
}

async function lengthsIn(world: World, topic: string): Promise<(number | undefined)[]> {
  const [watermarks] = await world.admin.watermarks(topic);
  const records = await (await world.join({ topics: [topic] })).read(watermarks?.high ?? 0);
  return records.map((record) => valueOf(record)?.length);
}

function states(error: SendError): string[] {
  return error.outcomes.map(({ state }) => state);
}

function errorOf(outcome: RecordOutcome | undefined): Error | undefined {
  return outcome && outcome.state !== 'written' ? outcome.error : undefined;
}
