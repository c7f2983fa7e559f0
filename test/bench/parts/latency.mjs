import { percentile, summary } from '../support/compare.mjs';
import { orderJson } from '../support/payloads.mjs';

const ROUNDS = 4;
const WARM_UP_MS = 3_000;
const ROUND_MS = 5_000;
/** Records per second of each side, and how they are sent. kafkajs saturates at 5,000 single sends. */
const PACES = [
  { perSecond: 100, perSend: 1 },
  { perSecond: 5_000, perSend: 50 },
];
const LONGEST_WAIT_MS = 30_000;

/**
 * Measures from send to handler, with each side's own producer and consumer. Both sides run at the same time
 * and take turns, so that a cold broker, a busy machine and a pause of the process affect both.
 */
export async function latencyBench({ driver, ...rest }) {
  await compareLatencies({ ...rest, ours: 'poll', ourSide: (topic) => pollSide(driver, topic) });
}

/** A side has `latencies`, `send(records)` and `close()`; `ourSide` creates the one that kafkajs is compared with. */
export async function compareLatencies({ admin, raw, table, ours: name, ourSide }) {
  for (const pace of PACES) {
    const { perSecond, perSend } = pace;
    const topics = ['ours', 'theirs'].map((side) => `bench-latency-${perSecond}-${side}`);
    await admin.createTopics(topics.map((topic) => ({ name: topic, partitions: 3 })));
    const sides = [await ourSide(topics[0]), await theirSide(raw, topics[1])];
    await round(sides, pace, WARM_UP_MS);
    const rounds = [];
    for (let index = 0; index < ROUNDS; index++) rounds.push(await round(sides, pace, ROUND_MS));
    for (const side of sides) await side.close();
    for (const share of [0.5, 0.99]) {
      const of = (side) => rounds.map((latencies) => percentile(latencies[side], share));
      const ours = summary(name, of(0));
      const theirs = summary('kafkajs eachMessage', of(1));
      table.add(
        `produce to handler, ${perSecond}/s by ${perSend}, p${share * 100}`,
        { ours, theirs, ratio: ours.median / theirs.median },
        { goal: '<= 1.0', unit: 'ms' },
      );
    }
  }
}

/** Returns the latencies of each side. The order of the sides changes with each pair of sends. */
async function round(sides, { perSecond, perSend }, lastsMs) {
  const everyMs = (1_000 / perSecond) * perSend;
  const pairs = lastsMs / everyMs;
  for (const side of sides) side.latencies = [];
  const sends = [];
  const startedAt = performance.now();
  for (let pair = 0; pair < pairs; pair++) {
    const order = pair % 2 === 0 ? sides : [...sides].reverse();
    for (const [turn, side] of order.entries()) {
      await untilTime(startedAt + (pair + turn / 2) * everyMs);
      sends.push(side.send(stampedRecords(pair * perSend, perSend)));
    }
  }
  await Promise.all(sends);
  await untilAll(sides, pairs * perSend);
  return sides.map(({ latencies }) => latencies);
}

async function pollSide(driver, topic) {
  const session = driver.consumer({ groupId: `${topic}-group`, topics: [topic] });
  const producer = driver.producer();
  const stop = new AbortController();
  const commits = [];
  const side = {
    latencies: [],
    send: (records) => producer.send(records.map((record) => ({ ...record, topic }))),
    async close() {
      stop.abort();
      await reading;
      await Promise.all(commits);
      await Promise.all([session.close(), producer.close()]);
    },
  };
  await session.start({ onAssigned() {}, onRevoked() {}, onLost() {} });
  const reading = (async () => {
    for (;;) {
      const records = await session.poll(500, stop.signal);
      for (const { value } of records) side.latencies.push(performance.now() - sentAt(value));
      commits.push(session.commit(ends(records)));
    }
  })().catch((error) => {
    if (!stop.signal.aborted) throw error;
  });
  return side;
}

async function theirSide(raw, topic) {
  const consumer = raw.consumer({ groupId: `${topic}-group`, maxWaitTimeInMs: 500 });
  const producer = raw.producer();
  const side = {
    latencies: [],
    send: (messages) => producer.send({ topic, messages }),
    close: () => Promise.all([consumer.disconnect(), producer.disconnect()]),
  };
  await Promise.all([consumer.connect(), producer.connect()]);
  await consumer.subscribe({ topic, fromBeginning: true });
  const joined = new Promise((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve));
  await consumer.run({
    async eachMessage({ message }) {
      side.latencies.push(performance.now() - sentAt(message.value));
    },
  });
  await joined;
  return side;
}

/** Timestamps are added after all records are created, so that their creation is not measured. */
function stampedRecords(from, count) {
  const orders = Array.from({ length: count }, (_, index) => orderJson(from + index));
  const at = performance.now();
  return orders.map((order, index) => ({
    key: `key-${from + index}`,
    value: `{"at":${at},"order":${order}}`,
  }));
}

/** Offsets behind the last record of each partition. kafkajs commits after each batch, too. */
function ends(records) {
  const last = new Map(records.map((record) => [record.partition, record]));
  return [...last.values()].map(({ topic, partition, offset }) => ({
    topic,
    partition,
    offset: offset + 1,
  }));
}

const sentAt = (value) => JSON.parse(value.toString()).at;

async function untilTime(time) {
  for (let left = time - performance.now(); left > 0; left = time - performance.now())
    await new Promise((resolve) => setTimeout(resolve, left));
}

async function untilAll(sides, count) {
  const deadline = performance.now() + LONGEST_WAIT_MS;
  const late = () => sides.find(({ latencies }) => latencies.length < count);
  while (late() && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 20));
  if (late()) throw new Error(`only ${late().latencies.length} of ${count} came`);
}
