import { compareRates } from '../support/compare.mjs';
import { headersOf, orderJson } from '../support/payloads.mjs';

const RECORDS = 200_000;
const PARTITIONS = 3;
let groups = 0;

/** Poll + JSON.parse against eachBatch + JSON.parse, commits included. */
export async function consumeBench({ driver, admin, raw, table }) {
  for (const headers of [4, 0, 10]) {
    const topic = await fill(driver, admin, `bench-${headers}-headers`, headers, 'none');
    await compare(`consume + JSON.parse, ${headers} headers`, topic, headers === 4 ? '>= 3' : '-');
    if (headers === 4)
      await compare('consume + JSON.parse, 4 headers, all read', topic, '>= 1.8', readHeaders);
  }
  const zipped = await fill(driver, admin, 'bench-gzip', 4, 'gzip');
  await compare('consume + JSON.parse, 4 headers, gzip', zipped, '-');

  async function compare(what, topic, goal, alsoRead = () => undefined) {
    const result = await compareRates(
      { name: 'poll', run: () => ours(driver, topic, alsoRead) },
      { name: 'kafkajs eachBatch', run: () => theirs(raw, topic, alsoRead) },
    );
    table.add(what, result, { goal, unit: 'records/s' });
  }
}

async function fill(driver, admin, topic, headerCount, compression) {
  await admin.createTopics([{ name: topic, partitions: PARTITIONS }]);
  const producer = driver.producer({ compression, batchBytes: 256 * 1024 });
  const headers = headersOf(headerCount);
  for (let from = 0; from < RECORDS; from += 5_000) {
    const records = Array.from({ length: 5_000 }, (_, index) => ({
      topic,
      partition: (from + index) % PARTITIONS,
      key: `key-${from + index}`,
      value: orderJson(from + index),
      headers,
    }));
    await producer.send(records);
  }
  await producer.close();
  return topic;
}

async function ours(driver, topic, alsoRead) {
  const session = driver.consumer({ groupId: `bench-ours-${++groups}`, topics: [topic] });
  await session.start({ onAssigned() {}, onRevoked() {}, onLost() {} });
  let seen = 0;
  let checksum = 0;
  const startedAt = performance.now();
  let commits = Promise.resolve();
  while (seen < RECORDS) {
    const records = await session.poll(500);
    for (const record of records) {
      checksum += JSON.parse(record.value.toString()).id;
      alsoRead(record.headers);
    }
    seen += records.length;
    const last = records.at(-1);
    if (seen % 5_000 < records.length)
      commits = session.commit([{ topic, partition: last.partition, offset: last.offset + 1 }]);
  }
  const rate = seen / ((performance.now() - startedAt) / 1_000);
  requireAll(checksum);
  await commits;
  await session.close();
  return rate;
}

async function theirs(raw, topic, alsoRead) {
  const consumer = raw.consumer({ groupId: `bench-theirs-${++groups}` });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  let seen = 0;
  let checksum = 0;
  let startedAt = 0;
  let finish;
  const finished = new Promise((resolve) => (finish = resolve));
  // Not at its first batch: a whole answer is decoded before that, of a packed topic most of it.
  consumer.on(consumer.events.FETCH_START, () => (startedAt ||= performance.now()));
  await consumer.run({
    eachBatchAutoResolve: true,
    autoCommitThreshold: 5_000,
    async eachBatch({ batch }) {
      for (const message of batch.messages) {
        checksum += JSON.parse(message.value.toString()).id;
        alsoRead(message.headers);
      }
      seen += batch.messages.length;
      if (seen >= RECORDS) finish(performance.now());
    },
  });
  const rate = RECORDS / (((await finished) - startedAt) / 1_000);
  requireAll(checksum);
  await consumer.disconnect();
  return rate;
}

function requireAll(checksum) {
  const expected = (RECORDS * (RECORDS - 1)) / 2;
  if (checksum !== expected) throw new Error(`Records are missing: ${checksum} of ${expected}.`);
}

/** Ours is a list with its order kept, kafkajs's an object. */
function readHeaders(headers) {
  let bytes = 0;
  const all = Array.isArray(headers) ? headers.map(({ value }) => value) : Object.values(headers);
  for (const value of all) bytes += value.length;
  return bytes;
}
