import { EventBusModule, EventPublisher } from '@nest-event-bus/core';
import { GENERAL_PRODUCER } from '@nest-event-bus/broker';
import { NestFactory } from '@nestjs/core';
import { clock } from '../../support/clock.mjs';
import { compareRates } from '../../support/compare.mjs';
import { orderJson } from '../../support/payloads.mjs';

const EVENTS = 100_000;
const AT_ONCE = 1_000;

/** Both sides write the same records with the settings of the event producer, 1,000 per call. */
export async function publishingBench({ brokers, driver, admin, table }) {
  const topic = 'bench-publishing';
  await admin.createTopics([{ name: topic, partitions: 3 }]);
  const application = await NestFactory.createApplicationContext(
    {
      module: class Application {},
      imports: [
        EventBusModule.forRoot({
          brokers,
          bindingsWithoutHandler: 'allow',
          bindings: { bench: { topic, groupId: topic, provisioning: 'none' } },
        }),
      ],
    },
    { logger: ['error'], abortOnError: false },
  );
  const publisher = application.get(EventPublisher);
  const producer = driver.producer(GENERAL_PRODUCER);
  const orders = Array.from({ length: AT_ONCE }, (_, index) => JSON.parse(orderJson(index)));
  const keyOf = (index) => `key-${index}`;
  const records = () =>
    orders.map((order, index) => ({ topic, key: keyOf(index), value: JSON.stringify(order) }));
  const events = () => orders.map((event, index) => ({ event, key: keyOf(index) }));
  const contenders = {
    driver: () => producer.send(records()),
    publishAll: () => publisher.publishAll('bench', events()),
    publish: () =>
      Promise.all(events().map(({ event, key }) => publisher.publish('bench', event, { key }))),
  };
  const contender = (name) => ({ name, run: () => rateOf(contenders[name]) });
  const compare = async (what, goal) =>
    table.add(
      `${what} / send of the driver`,
      await compareRates(contender(what), contender('driver')),
      { goal, unit: 'events/s' },
    );
  await compare('publishAll', '>= 0.9');
  await compare('publish', '-');
  await producer.close();
  await application.close();
}

async function rateOf(writeSome) {
  const startedAt = clock();
  for (let written = 0; written < EVENTS; written += AT_ONCE) await writeSome();
  return EVENTS / ((clock() - startedAt) / 1_000);
}
