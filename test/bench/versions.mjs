// npm run bench -- versions --other <folder>: the throughput of this checkout compared with another one
// (built, for example a clone of an earlier commit), on one broker. Each run is a process of its own; the two
// take turns. `--cpu` measures by processor time, `--runs 5` says how often.
import { fork } from 'node:child_process';
import { join, resolve } from 'node:path';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { KafkaServer } from '@nest-event-bus/testing';
import { byProcessorTime } from './support/clock.mjs';
import { median, summary } from './support/compare.mjs';
import { fillTopic } from './support/fill-topic.mjs';
import { Table } from './support/table.mjs';

const RECORDS = 200_000;
const root = join(import.meta.dirname, '../..');
const other = option('--other');
if (other === undefined) {
  console.error('usage: npm run bench -- versions --other <folder of another, built checkout>');
  process.exit(1);
}
const runs = Number(option('--runs') ?? 5);

const kafka = await KafkaServer.start({ stockGroupSettings: true });
const driver = kafkajs({ brokers: kafka.brokers });
const admin = driver.admin();
const table = new Table('versions');
try {
  const topic = await fillTopic({ driver, admin }, 'bench-versions', {
    records: RECORDS,
  });
  for (const handler of ['plain', 'async']) await compare(handler, topic);
  table.write(join(import.meta.dirname, 'results'));
} finally {
  await driver.close();
  await kafka.stop();
}

/** @param {string} handler @param {string} topic */
async function compare(handler, topic) {
  const rates = { ours: [], theirs: [] };
  for (let run = 0; run < runs; run++) {
    const order = run % 2 === 0 ? ['ours', 'theirs'] : ['theirs', 'ours'];
    for (const who of order) {
      const folder = who === 'ours' ? root : resolve(other);
      const rate = await rateOf(folder, { topic, handler });
      rates[who].push(rate);
      console.log(`  ${handler}, run ${run + 1} of ${runs}, ${who}: ${Math.round(rate)} records/s`);
    }
  }
  table.add(
    `${handler} handler, this checkout / the other`,
    {
      ours: summary('this checkout', rates.ours),
      theirs: summary('the other', rates.theirs),
      ratio: median(rates.ours) / median(rates.theirs),
    },
    { goal: '>= 0.97', unit: 'records/s' },
  );
}

/** @returns {Promise<number>} */
async function rateOf(folder, { topic, handler }) {
  const { brokers } = kafka;
  // Processes use the same group names, so the groups of the previous one are deleted.
  for (const { groupId } of await admin.groups()) await admin.deleteGroup(groupId);
  const settings = { folder, brokers, topic, handler, records: RECORDS };
  const args = [JSON.stringify(settings), ...(byProcessorTime ? ['--cpu'] : [])];
  return new Promise((done, fail) => {
    const child = fork(join(import.meta.dirname, 'support/version-process.mjs'), args);
    let rate;
    child.on('message', (message) => (rate = message));
    child.on('error', fail);
    child.on('exit', (code) =>
      rate === undefined ? fail(new Error(`A run ended with code ${code}.`)) : done(rate),
    );
  });
}

/** @param {string} name */
function option(name) {
  const index = process.argv.indexOf(name);
  return index === -1 ? undefined : process.argv[index + 1];
}
