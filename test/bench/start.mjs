// npm run bench -- start: an application of 50 bindings with three retry tiers each, compared with as many
// raw kafkajs consumers, on one broker with default group settings, in one run.
import { join } from 'node:path';
import { KafkaServer } from '@nest-event-bus/testing';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { Kafka, logLevel } from 'kafkajs';
import { startBench } from './parts/start.mjs';
import { Table } from './support/table.mjs';

const kafka = await KafkaServer.start({ stockGroupSettings: true });
const driver = kafkajs({ brokers: kafka.brokers });
const raw = new Kafka({ brokers: [...kafka.brokers], logLevel: logLevel.NOTHING });
const table = new Table('start');
try {
  await startBench({ brokers: kafka.brokers, admin: driver.admin(), raw, table });
  table.write(join(import.meta.dirname, 'results'));
} finally {
  await driver.close();
  await kafka.stop();
}
