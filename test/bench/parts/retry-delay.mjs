import { ContainerRegistry, EventBusModule, EventHandler } from '@nest-event-bus/core';
import { NestFactory } from '@nestjs/core';
import { percentile } from '../support/compare.mjs';
import { orderJson } from '../support/payloads.mjs';

const TOPIC = 'bench-retry-delay';
const PARTITIONS = 3;
/** Records that fail in the main topic and in two tiers, and succeed in the third tier. */
const FAILING = 10_000;
/** Number of successful records per failing record. */
const OTHERS_PER_FAILING = 9;
const DELAYS = [1_000, 2_000, 4_000];
const PER_SECOND = 250;
/** Records before the measurement, because broker and process are cold at first. */
const WARM_UP = 5 * PER_SECOND;
const EVERY_MS = 20;
/** Waits as long as records arrive, because the total duration depends on the machine. */
const STALLED_AFTER_MS = 60_000;

/** The 10,000 failing records go through all three tiers, whose sessions share the process with the other load. */
export async function retryDelayBench({ brokers, driver, table }) {
  const names = [TOPIC, ...DELAYS.map((_, tier) => `${TOPIC}.retry-${tier + 1}`), `${TOPIC}.DLT`];
  await driver.admin().createTopics(names.map((name) => ({ name, partitions: PARTITIONS })));
  const seen = { beyond: DELAYS.map(() => []), others: 0 };
  const untilAll = (count) =>
    until(
      () => seen.beyond.every(({ length }) => length >= count),
      () => `tiers: ${seen.beyond.map(({ length }) => length).join(', ')} of ${count}`,
    );
  const application = await start(brokers, seen);
  try {
    const producer = driver.producer();
    await write(producer, WARM_UP);
    await untilAll(WARM_UP);
    seen.beyond = DELAYS.map(() => []);
    seen.others = 0;
    const seconds = await write(producer, FAILING);
    await untilAll(FAILING);
    await producer.close();
    tell(table, seen, seconds);
  } finally {
    await application.close();
  }
}

async function start(brokers, seen) {
  const tiers = DELAYS.map((delayMs) => ({ delayMs, maxAttempts: 1 }));
  const retry = { tier0: { maxAttempts: 1 }, tiers };
  const bindings = {
    orders: { topic: TOPIC, groupId: 'bench', concurrency: PARTITIONS, retry },
  };
  class Handlers {
    handle({ key, headers }, { attempt: { tier } }) {
      const now = Date.now();
      if (!key.startsWith('failing')) return void seen.others++;
      if (tier > 0) {
        const dueAt = Number(headers.get('x-eventbus-retry-timestamp')) + DELAYS[tier - 1];
        seen.beyond[tier - 1].push(now - dueAt);
      }
      if (tier < DELAYS.length) throw new Error('the warehouse does not answer');
    }
  }
  const method = Object.getOwnPropertyDescriptor(Handlers.prototype, 'handle');
  EventHandler('orders')(Handlers.prototype, 'handle', method);
  const application = await NestFactory.createApplicationContext(
    {
      module: class Application {},
      imports: [EventBusModule.forRoot({ brokers, bindings })],
      providers: [Handlers],
    },
    { logger: ['error'], abortOnError: false },
  );
  const { mainContainer, retryTierContainers } = application
    .get(ContainerRegistry)
    .require('orders');
  const containers = [mainContainer, ...retryTierContainers];
  await until(
    () => containers.every(({ status }) => status.state === 'joined'),
    () => `sessions: ${containers.map(({ status }) => status.state).join(', ')}`,
  );
  return application;
}

/**
 * Writes this many failing records with the others between them, spread evenly over partitions and time.
 * Returns the seconds that it took.
 */
async function write(producer, failing) {
  const perRound = (PER_SECOND * EVERY_MS) / 1_000;
  const startedAt = performance.now();
  const sends = [];
  for (let round = 0; round < failing / perRound; round++) {
    const left = startedAt + round * EVERY_MS - performance.now();
    if (left > 0) await new Promise((resolve) => setTimeout(resolve, left));
    const records = Array.from({ length: perRound * (1 + OTHERS_PER_FAILING) }, (_, index) => ({
      topic: TOPIC,
      partition: (round + index) % PARTITIONS,
      key: `${index % (1 + OTHERS_PER_FAILING) === 0 ? 'failing' : 'good'}-${round}-${index}`,
      value: orderJson(index),
    }));
    sends.push(producer.send(records));
  }
  await Promise.all(sends);
  return (performance.now() - startedAt) / 1_000;
}

function tell(table, { beyond, others }, seconds) {
  for (const [index, delays] of beyond.entries()) {
    const what = `tier ${index + 1} after ${DELAYS[index]} ms, beyond the due time`;
    table.note(`${what}, p50`, percentile(delays, 0.5), 'ms', '-');
    table.note(`${what}, p99`, percentile(delays, 0.99), 'ms', '<= 50');
  }
  const all = beyond.flat();
  table.note(`all ${all.length} deliveries, p50`, percentile(all, 0.5), 'ms', '-');
  table.note(`all ${all.length} deliveries, p99`, percentile(all, 0.99), 'ms', '<= 50');
  table.note('the earliest', Math.min(...beyond.map((each) => Math.min(...each))), 'ms', '>= 0');
  table.note('records handled at once meanwhile', others / seconds, '1/s', '-');
}

async function until(condition, describe) {
  let seen = { stand: describe(), at: performance.now() };
  while (!condition()) {
    const stand = describe();
    if (stand !== seen.stand) seen = { stand, at: performance.now() };
    if (performance.now() - seen.at > STALLED_AFTER_MS)
      throw new Error(`No record arrived for a while. ${stand}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
