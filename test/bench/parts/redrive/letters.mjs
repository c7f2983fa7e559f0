import { DltReplayService, EventBusModule } from '@nest-event-bus/core';
import { NestFactory } from '@nestjs/core';
import { orderJson } from '../../support/payloads.mjs';

const AT_ONCE = 5_000;

export async function createTopics({ admin }, { topic, partitions }) {
  const deadLetters = `${topic}.DLT`;
  await admin.createTopics([topic, deadLetters].map((name) => ({ name, partitions })));
  return { deadLetters };
}

/** Writes dead letters of a topic of orders, as the bus writes them. */
export async function writeLetters({ driver }, { topic, letters, partitions }) {
  const producer = driver.producer({ batchBytes: 256 * 1024 });
  for (let from = 0; from < letters; from += AT_ONCE) {
    const count = Math.min(AT_ONCE, letters - from);
    await producer.send(
      Array.from({ length: count }, (_, index) => letterOf(topic, from + index, partitions)),
    );
  }
  await producer.close();
}

const CLASSES = ['OutOfStock', 'TimeoutError', 'PaymentRefused', 'TypeError'];

function letterOf(topic, index, partitions) {
  const partition = index % partitions;
  const exception = CLASSES[index % CLASSES.length];
  const headers = {
    'content-type': 'application/json',
    'x-eventbus-version': '1',
    'x-eventbus-header-profiles': 'eventbus',
    'x-eventbus-binding-name': 'bench',
    'x-eventbus-group-id': topic,
    'x-eventbus-original-topic': topic,
    'x-eventbus-original-partition': String(partition),
    'x-eventbus-original-offset': String(index),
    'x-eventbus-original-timestamp': '1700000000000',
    'x-eventbus-original-timestamp-type': 'CreateTime',
    'x-eventbus-total-attempts': '4',
    'x-eventbus-first-failure-timestamp': '1700000000100',
    'x-eventbus-replay-count': '0',
    'x-eventbus-dlt-reason': 'RETRIES_EXHAUSTED',
    'x-eventbus-dlt-cause': 'exhausted',
    'x-eventbus-dlt-timestamp': String(1_700_000_001_000 + index),
    'x-eventbus-last-exception-class': exception,
    'x-eventbus-last-exception-message': 'the warehouse does not answer',
    'x-eventbus-last-exception-stacktrace': stackOf(exception),
    'x-eventbus-tier0-exception': exception,
    'x-eventbus-tier0-exhausted-at': '1700000000200',
    'x-eventbus-tier0-attempts': '4',
  };
  return {
    topic: `${topic}.DLT`,
    partition,
    key: `order-${index}`,
    value: orderJson(index),
    headers: Object.entries(headers).map(([key, value]) => ({ key, value })),
  };
}

const stackOf = (exception) =>
  [
    `${exception}: the warehouse does not answer`,
    '    at Warehouse.reserve (/app/dist/warehouse/warehouse.service.js:41:13)',
    '    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)',
    '    at async OrdersHandler.onOrder (/app/dist/orders/orders.handler.js:18:5)',
  ].join('\n');

/** Starts an application that consumes nothing. */
export async function startReplay({ brokers }, topic) {
  const bench = { topic, groupId: topic, provisioning: 'create' };
  const application = await NestFactory.createApplicationContext(
    {
      module: class Application {},
      imports: [
        EventBusModule.forRoot({
          brokers,
          bindings: { bench },
          bindingsWithoutHandler: 'allow',
        }),
      ],
    },
    { logger: ['error', 'warn'], abortOnError: false },
  );
  return { replay: application.get(DltReplayService), close: () => application.close() };
}
