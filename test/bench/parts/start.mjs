import { ContainerRegistry, EventBusModule, EventHandler } from '@nest-event-bus/core';
import { NestFactory } from '@nestjs/core';
import { compareRates } from '../support/compare.mjs';

const BINDINGS = 50;
const TIERS = 3;
const SESSIONS = BINDINGS * (1 + TIERS);

const names = Array.from({ length: BINDINGS }, (_, index) => `bench-${index}`);
const topics = names.flatMap((name) => [
  name,
  ...Array.from({ length: TIERS }, (_, tier) => `${name}.retry-${tier + 1}`),
]);
const JOIN_TIMEOUT_MS = 90_000;
let round = 0;

/** Measures from nothing to the last session that has joined its group. */
export async function startBench({ brokers, admin, raw, table }) {
  await admin.createTopics(topics.map((name) => ({ name, partitions: 1 })));
  const ours = { name: 'event bus', run: () => startBus(brokers) };
  const theirs = { name: 'raw kafkajs', run: () => startRaw(raw) };
  const result = await compareRates(ours, theirs, { rounds: 4, warmUps: 1 });
  table.add(`${SESSIONS} sessions joined`, result, { unit: 'sessions/s', goal: '>= 1' });
  table.note('the whole start, event bus', SESSIONS / result.ours.median, 's', '-');
  table.note('the whole start, raw kafkajs', SESSIONS / result.theirs.median, 's', '-');
}

async function startBus(brokers) {
  const suffix = ++round;
  const bindings = Object.fromEntries(
    names.map((name) => [
      name,
      {
        topic: name,
        groupId: `${name}-${suffix}`,
        retry: {
          tiers: Array.from({ length: TIERS }, (_, tier) => ({ delayMs: 1_000 * 10 ** tier })),
        },
      },
    ]),
  );
  const startedAt = performance.now();
  const application = await NestFactory.createApplicationContext(
    applicationOf({ brokers, bindings }),
    {
      logger: ['error'],
      abortOnError: false,
    },
  );
  const containers = application
    .get(ContainerRegistry)
    .listAll()
    .flatMap(({ mainContainer, retryTierContainers }) => [mainContainer, ...retryTierContainers]);
  if (containers.length !== SESSIONS) throw new Error(`${containers.length} containers`);
  while (!containers.every(({ status }) => status.state === 'joined')) {
    if (performance.now() - startedAt > JOIN_TIMEOUT_MS) throw new Error(standOf(containers));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  await application.close();
  return SESSIONS / seconds;
}

function standOf(containers) {
  const lazy = containers.find(({ status }) => status.state !== 'joined');
  const joined = containers.filter(({ status }) => status.state === 'joined').length;
  return `only ${joined} of ${SESSIONS} joined; ${lazy.id} is ${lazy.status.state}: ${lazy.status.error?.message}`;
}

function applicationOf(options) {
  class Handlers {
    handle() {}
  }
  const method = Object.getOwnPropertyDescriptor(Handlers.prototype, 'handle');
  for (const name of names) EventHandler(name)(Handlers.prototype, 'handle', method);
  return {
    module: class Application {},
    imports: [EventBusModule.forRoot(options)],
    providers: [Handlers],
  };
}

async function startRaw(raw) {
  const suffix = ++round;
  const consumers = topics.map((topic) => raw.consumer({ groupId: `${topic}-${suffix}` }));
  const startedAt = performance.now();
  await Promise.all(
    consumers.map(async (consumer, index) => {
      const joined = new Promise((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve));
      await consumer.connect();
      await consumer.subscribe({ topics: [topics[index]] });
      await consumer.run({ eachMessage: async () => {} });
      await joined;
    }),
  );
  const seconds = (performance.now() - startedAt) / 1_000;
  await Promise.all(consumers.map((consumer) => consumer.disconnect()));
  return SESSIONS / seconds;
}
