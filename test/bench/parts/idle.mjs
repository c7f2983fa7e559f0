import { join } from 'node:path';
import { median, percentile, summary } from '../support/compare.mjs';
import { Measured } from '../support/measured.mjs';

const SESSIONS = 80;
const ARRIVALS = 400;
const ARRIVE_EVERY_MS = 40;
const PROGRAM = join(import.meta.dirname, '../support/idle-process.mjs');
const WARM_UP_TOPIC = 'bench-idle-warm-up';
const WARM_UPS = 2_000;
const KIBIBYTE = 1024;

const topics = Array.from({ length: SESSIONS }, (_, index) => `bench-idle-${index}`);

/** Measures the cost of idle sessions, and how soon one handles a new record. */
export async function idleBench({ brokers, driver, table, rounds, seconds }) {
  await driver.admin().createTopics(topics.map((name) => ({ name, partitions: 1 })));
  const producer = driver.producer({ lingerMs: 0 });
  // A broker that has just started is slow, which would affect the side that is measured first.
  await driver.admin().createTopics([{ name: WARM_UP_TOPIC, partitions: 1 }]);
  for (let index = 0; index < WARM_UPS; index++)
    await producer.send([{ topic: WARM_UP_TOPIC, value: `${index}` }]);
  const figures = { ours: [], theirs: [] };
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? ['ours', 'theirs'] : ['theirs', 'ours'];
    for (const side of order)
      figures[side].push(await measure({ side, brokers, producer, round, seconds }));
  }
  await producer.close();
  const compare = (what, pick, about) => {
    const ours = summary('poll', figures.ours.map(pick));
    const theirs = summary('kafkajs eachMessage', figures.theirs.map(pick));
    table.add(what, { ours, theirs, ratio: ours.median / theirs.median }, about);
  };
  compare(`${SESSIONS} idle sessions, processor`, ({ cpu }) => cpu * 100, {
    goal: '<= 0.2',
    unit: '% of a core',
  });
  compare('memory of the process for each', ({ rss }) => rss / SESSIONS / KIBIBYTE, {
    goal: '<= 0.3',
    unit: 'KiB',
  });
  compare('of it in use, after a collection', ({ memory }) => memory / SESSIONS / KIBIBYTE, {
    goal: '-',
    unit: 'KiB',
  });
  compare('sockets', ({ sockets }) => sockets, { goal: '-', unit: '' });
  for (const share of [0.5, 0.99])
    compare(
      `a record that comes then, send to handler, p${share * 100}`,
      ({ latencies }) => percentile(latencies, share),
      { goal: '-', unit: 'ms' },
    );
  const late = median(figures.ours.map(({ latencies }) => percentile(latencies, 0.99)));
  table.note('the same, p99, ours', late, 'ms', '<= 100');
}

async function measure({ side, brokers, producer, round, seconds }) {
  const order = {
    side,
    brokers,
    topics,
    groups: `idle-${round}-${side}`,
    quietMs: seconds * 1_000,
  };
  const child = new Measured(PROGRAM, order);
  const figures = await child.next();
  for (let index = 0; index < ARRIVALS; index++) {
    await new Promise((resolve) => setTimeout(resolve, ARRIVE_EVERY_MS));
    const value = JSON.stringify({ at: performance.timeOrigin + performance.now() });
    // Every session gets one record before any session gets a second one, so each was idle before.
    await producer.send([{ topic: topics[(index * 7) % SESSIONS], value }]);
  }
  const { latencies } = await child.ask(`${ARRIVALS}`);
  await child.ended();
  return { ...figures, latencies };
}
