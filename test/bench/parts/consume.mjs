import { compareRates } from '../support/compare.mjs';
import { fillTopic, requireAll } from '../support/fill-topic.mjs';
import { rawEachBatch } from '../support/raw-each-batch.mjs';

const RECORDS = 200_000;
let groups = 0;

/** Compares poll + JSON.parse with eachBatch + JSON.parse, commits included. */
export async function consumeBench({ driver, admin, raw, table }) {
  const fill = (topic, given) =>
    fillTopic({ driver, admin }, topic, { records: RECORDS, ...given });
  for (const headers of [4, 0, 10]) {
    const topic = await fill(`bench-${headers}-headers`, { headers });
    await compare(`consume + JSON.parse, ${headers} headers`, topic, headers === 4 ? '>= 3' : '-');
    if (headers === 4)
      await compare('consume + JSON.parse, 4 headers, all read', topic, '>= 1.8', readHeaders);
  }
  const zipped = await fill('bench-gzip', { compression: 'gzip' });
  await compare('consume + JSON.parse, 4 headers, gzip', zipped, '-');

  async function compare(what, topic, goal, alsoRead = () => undefined) {
    const each = (_, message) => {
      alsoRead(message.headers);
    };
    const result = await compareRates(
      { name: 'poll', run: () => ours(driver, topic, alsoRead) },
      {
        name: 'kafkajs eachBatch',
        run: () => rawEachBatch(raw, topic, { records: RECORDS, each }),
      },
    );
    table.add(what, result, { goal, unit: 'records/s' });
  }
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
  requireAll(checksum, RECORDS);
  await commits;
  await session.close();
  return rate;
}

/** Our headers are an ordered list; kafkajs has an object. */
function readHeaders(headers) {
  let bytes = 0;
  const all = Array.isArray(headers) ? headers.map(({ value }) => value) : Object.values(headers);
  for (const value of all) bytes += value.length;
  return bytes;
}
