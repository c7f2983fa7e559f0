// 80 idle consumers of one kind. Prints what they cost, reads how many records have been sent to them, and
// prints how long each of these took.
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { Kafka, logLevel } from 'kafkajs';
import { answer, inUse } from './measured.mjs';

const SETTLE_MS = 8_000;
const ARRIVAL_TIMEOUT_MS = 30_000;

const { side, brokers, topics, groups, quietMs } = JSON.parse(process.argv[2] ?? '');
const latencies = [];
const handle = (value) =>
  latencies.push(performance.timeOrigin + performance.now() - JSON.parse(value.toString()).at);

const before = { memory: inUse(), rss: process.memoryUsage().rss };
const consumers = await Promise.all(
  topics.map((topic, index) => (side === 'ours' ? ours : theirs)(topic, `${groups}-${index}`)),
);
await pause(SETTLE_MS);
const cpuBefore = process.cpuUsage();
const startedAt = performance.now();
await pause(quietMs);
const { user, system } = process.cpuUsage(cpuBefore);
const cpu = (user + system) / 1_000 / (performance.now() - startedAt);
const rss = process.memoryUsage().rss - before.rss;
const memory = inUse() - before.memory;
const sockets = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
answer({ cpu, memory, rss, sockets });

const [count] = await once(createInterface({ input: process.stdin }), 'line');
const deadline = performance.now() + ARRIVAL_TIMEOUT_MS;
while (latencies.length < Number(count)) {
  if (performance.now() > deadline)
    throw new Error(`Only ${latencies.length} of ${count} records came.`);
  await pause(20);
}
answer({ latencies });
await Promise.all(consumers.map((close) => close()));
process.exit(0);

async function ours(topic, groupId) {
  ours.driver ??= kafkajs({ brokers });
  const session = ours.driver.consumer({ groupId, topics: [topic], offsetReset: 'latest' });
  await session.start({ onAssigned() {}, onRevoked() {}, onLost() {} });
  void (async () => {
    for (;;)
      for (const { partition, offset, value } of await session.poll(100)) {
        handle(value);
        await session.commit([{ topic, partition, offset: offset + 1 }]);
      }
  })().catch(() => undefined);
  return () => session.close();
}

async function theirs(topic, groupId) {
  theirs.client ??= new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING });
  const consumer = theirs.client.consumer({ groupId });
  const joined = new Promise((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve));
  await consumer.connect();
  await consumer.subscribe({ topics: [topic] });
  await consumer.run({ eachMessage: async ({ message }) => handle(message.value) });
  await joined;
  return () => consumer.disconnect();
}

function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
