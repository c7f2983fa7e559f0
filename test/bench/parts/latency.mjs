import { percentile, summary } from '../support/compare.mjs';
import { orderJson } from '../support/payloads.mjs';

const SECONDS = 6;
const WARM_UP_RECORDS = 200;

/** From send to the handler, with each side's own producer and consumer. */
export async function latencyBench({ driver, admin, raw, table }) {
  for (const perSecond of [100, 5_000]) {
    const ours = [];
    const theirs = [];
    for (const order of [
      [ours, theirs],
      [theirs, ours],
    ])
      for (const side of order) {
        const topic = `bench-latency-${perSecond}-${ours.length}-${theirs.length}`;
        await admin.createTopics([{ name: topic, partitions: 3 }]);
        side.push(await (side === ours ? ourRun : theirRun)({ driver, raw, topic, perSecond }));
      }
    for (const share of [0.5, 0.99]) {
      const at = (runs) => runs.map((latencies) => percentile(latencies, share));
      const mine = summary('poll', at(ours));
      const other = summary('kafkajs eachMessage', at(theirs));
      table.add(
        `produce to handler, ${perSecond}/s, p${share * 100}`,
        { ours: mine, theirs: other, ratio: mine.median / other.median },
        { goal: '<= 1.0', unit: 'ms' },
      );
    }
  }
}

async function ourRun({ driver, topic, perSecond }) {
  const session = driver.consumer({ groupId: `${topic}-group`, topics: [topic] });
  await session.start({ onAssigned() {}, onRevoked() {}, onLost() {} });
  const producer = driver.producer();
  const latencies = [];
  const stop = new AbortController();
  const reading = (async () => {
    for (;;) {
      const records = await session.poll(500, stop.signal);
      for (const record of records) latencies.push(performance.now() - sentAt(record.value));
    }
  })().catch(() => undefined);
  await paced(perSecond, (index) =>
    producer.send([{ topic, key: `key-${index}`, value: stamped(index) }]),
  );
  await untilAll(latencies, perSecond);
  stop.abort();
  await reading;
  await Promise.all([session.close(), producer.close()]);
  return latencies.slice(WARM_UP_RECORDS);
}

async function theirRun({ raw, topic, perSecond }) {
  const consumer = raw.consumer({ groupId: `${topic}-group`, maxWaitTimeInMs: 500 });
  const producer = raw.producer();
  await Promise.all([consumer.connect(), producer.connect()]);
  await consumer.subscribe({ topic, fromBeginning: true });
  const latencies = [];
  const joined = new Promise((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve));
  await consumer.run({
    async eachMessage({ message }) {
      latencies.push(performance.now() - sentAt(message.value));
    },
  });
  await joined;
  await paced(perSecond, (index) =>
    producer.send({ topic, messages: [{ key: `key-${index}`, value: stamped(index) }] }),
  );
  await untilAll(latencies, perSecond);
  await Promise.all([consumer.disconnect(), producer.disconnect()]);
  return latencies.slice(WARM_UP_RECORDS);
}

const stamped = (index) => JSON.stringify({ at: performance.now(), order: orderJson(index) });
const sentAt = (value) => JSON.parse(value.toString()).at;

async function paced(perSecond, send) {
  const total = perSecond * SECONDS;
  const startedAt = performance.now();
  const sends = [];
  let sent = 0;
  while (sent < total) {
    const due = Math.min(total, Math.ceil(((performance.now() - startedAt) / 1_000) * perSecond));
    while (sent < due) sends.push(send(sent++));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(sends);
}

async function untilAll(latencies, perSecond) {
  const deadline = performance.now() + 30_000;
  while (latencies.length < perSecond * SECONDS && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 20));
  if (latencies.length < perSecond * SECONDS) throw new Error(`only ${latencies.length} came`);
}
