// Uses all features of a driver all the time, and samples its own memory after a collection.
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { answer, inUse } from './measured.mjs';
import { headersOf, orderJson } from './payloads.mjs';

const PARTITIONS = 6;
const SEND_EVERY_MS = 50;
const RECORDS_AT_ONCE = 100;
const SAMPLE_EVERY_MS = 5_000;
const CHANGE_EVERY_MS = 3_000;
const TRANSACT_EVERY_MS = 1_000;
const DISTURB_EVERY_MS = 500;
const KIBIBYTE = 1_024;

const { brokers, lastsMs } = JSON.parse(process.argv[2] ?? '');
const topic = 'bench-soak';
const target = 'bench-soak-out';
const groupId = 'bench-soak';
const headers = headersOf(4);
const value = orderJson(1);
const driver = kafkajs({ brokers });
const admin = driver.admin();
const producer = driver.producer();
const transactional = driver.producer({ transactionalId: 'bench-soak' });
const done = { sent: 0, handled: 0, commits: 0, 'members that came': 0, transactions: 0, seeks: 0 };
const leakWarnings = [];
process.on('warning', ({ name, message }) => {
  if (name === 'MaxListenersExceededWarning') leakWarnings.push(message);
});

await admin.createTopics(
  [topic, target].map((name) => ({
    name,
    partitions: PARTITIONS,
    config: { 'retention.ms': '60000', 'segment.ms': '30000' },
  })),
);
const samples = [];
const startedAt = performance.now();
const isOver = () => performance.now() - startedAt >= lastsMs;
const first = await member();
const second = await member();
await Promise.all([
  every(SEND_EVERY_MS, send),
  every(CHANGE_EVERY_MS, comeAndGo),
  every(TRANSACT_EVERY_MS, transact),
  every(DISTURB_EVERY_MS, disturb),
  every(SAMPLE_EVERY_MS, sample),
]);
await Promise.all([first, second].map((session) => session.close()));
await driver.close();
answer({ samples, done, leakWarnings });

async function every(milliseconds, work) {
  while (!isOver()) {
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    await work();
  }
}

async function member() {
  const session = driver.consumer({ groupId, topics: [topic] });
  await session.start({ onAssigned() {}, onRevoked() {}, onLost() {} });
  void consume(session).catch(() => undefined);
  return session;
}

async function consume(session) {
  for (;;) {
    // A signal per poll, as in a container.
    const records = await session.poll(500, new AbortController().signal);
    const ends = new Map();
    for (const record of records) {
      if (record.headers.length === headers.length) done.handled++;
      ends.set(record.partition, { topic, partition: record.partition, offset: record.offset + 1 });
    }
    await session.commit([...ends.values()]).then(
      () => done.commits++,
      () => undefined,
    );
  }
}

async function send() {
  const records = Array.from({ length: RECORDS_AT_ONCE }, (_, index) => ({
    topic,
    key: `key-${index}`,
    value,
    headers,
  }));
  await producer.send(records);
  done.sent += records.length;
}

async function comeAndGo() {
  const session = await member();
  done['members that came']++;
  await new Promise((resolve) => setTimeout(resolve, 500));
  await session.close();
}

async function transact() {
  const transaction = await transactional.transaction();
  await transaction.send([{ topic: target, value, headers }]);
  if (done.transactions++ % 5 === 0) await transaction.abort();
  else await transaction.commit();
}

/** Pauses, resumes and seeks back. */
async function disturb() {
  const [partition] = first.assignment();
  if (!partition) return;
  first.pause([partition]);
  await new Promise((resolve) => setTimeout(resolve, 50));
  first.resume([partition]);
  const position = first.position(partition);
  if (position === undefined || position === 0) return;
  first.seek(partition, position - 1);
  done.seeks++;
}

async function sample() {
  samples.push({
    minute: (performance.now() - startedAt) / 60_000,
    inUseKiB: Math.round(inUse() / KIBIBYTE),
    rssKiB: Math.round(process.memoryUsage().rss / KIBIBYTE),
  });
}
