// npm run bench -- idle [--rounds 2] [--seconds 40]: 80 idle sessions compared with 80 raw kafkajs consumers
// with default options. Each side runs in a process of its own, on one broker with default group settings.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { KafkaServer } from '@nest-event-bus/testing';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { idleBench } from './parts/idle.mjs';
import { Table } from './support/table.mjs';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '40' },
  },
});

const kafka = await KafkaServer.start({ stockGroupSettings: true });
const driver = kafkajs({ brokers: kafka.brokers });
const table = new Table('idle');
try {
  await idleBench({
    brokers: kafka.brokers,
    driver,
    table,
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
  });
  table.write(join(import.meta.dirname, 'results'));
} finally {
  await driver.close();
  await kafka.stop();
}
