import { EVERYTHING_ON } from '../../support/bus.mjs';
import { busRate } from '../../support/bus-rate.mjs';
import { compareRates, median } from '../../support/compare.mjs';
import { fillTopic } from '../../support/fill-topic.mjs';

const RECORDS = 10_000;
const KEYS = 1_000;
const LONGEST_MS = 5;
/**
 * A run of ours takes a fifth of a second, one of theirs half a minute. A single run of ours would be
 * measured cold.
 */
const RUNS_OF_OURS = 5;
let groups = 0;

/** Uses one partition with handlers of 0 to 5 ms: 200 keys in parallel compared with one record after the other. */
export async function byKeyBench({ brokers, driver, admin, raw, table }) {
  const keyOf = (index) => `key-${index % KEYS}`;
  const topic = await fillTopic({ driver, admin }, 'bench-by-key', {
    records: RECORDS,
    partitions: 1,
    keyOf,
  });
  const binding = {
    admin,
    brokers,
    topic,
    records: RECORDS,
    processing: { by: 'key', maxConcurrency: 200 },
    each: ({ value }) => work(value.id),
    ...EVERYTHING_ON,
  };
  const ours = { name: 'event bus', run: () => severalTimes(() => busRate(binding)) };
  const theirs = { name: 'kafkajs eachMessage', run: () => oneByOne(raw, topic) };
  const result = await compareRates(ours, theirs, { rounds: 2 });
  table.add('by key, 200 at a time / one by one', result, { goal: '>= 100', unit: 'records/s' });
}

async function severalTimes(run) {
  const rates = [];
  for (let index = 0; index < RUNS_OF_OURS; index++) rates.push(await run());
  return median(rates);
}

/** The same delay for each record on both sides, and in every run. */
function work(id) {
  return new Promise((resolve) => setTimeout(resolve, id % (LONGEST_MS + 1)));
}

async function oneByOne(raw, topic) {
  const consumer = raw.consumer({ groupId: `${topic}-raw-${++groups}` });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  let seen = 0;
  let startedAt = 0;
  let finish;
  const finished = new Promise((resolve) => (finish = resolve));
  consumer.on(consumer.events.FETCH_START, () => (startedAt ||= performance.now()));
  await consumer.run({
    async eachMessage({ message: { value } }) {
      await work(JSON.parse(value.toString()).id);
      if (++seen === RECORDS) finish(performance.now());
    },
  });
  const rate = RECORDS / (((await finished) - startedAt) / 1_000);
  await consumer.disconnect();
  return rate;
}
