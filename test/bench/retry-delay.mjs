// npm run bench -- retry-delay: how long after its due time a record in a retry topic reaches its handler, on
// one broker with default group settings, while the main topic is under load.
import { join } from 'node:path';
import { KafkaServer } from '@nest-event-bus/testing';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { retryDelayBench } from './parts/retry-delay.mjs';
import { Table } from './support/table.mjs';

const kafka = await KafkaServer.start({ stockGroupSettings: true });
const driver = kafkajs({ brokers: kafka.brokers });
const table = new Table('retry-delay');
try {
  await retryDelayBench({ brokers: kafka.brokers, driver, table });
  table.write(join(import.meta.dirname, 'results'));
} finally {
  await driver.close();
  await kafka.stop();
}
