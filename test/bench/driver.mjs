// npm run bench -- driver [part ...]: our driver compared with raw kafkajs, on one broker, in one run.
import { join } from 'node:path';
import { KafkaServer } from '@nest-event-bus/testing';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { Kafka, logLevel } from 'kafkajs';
import { consumeBench } from './parts/consume.mjs';
import { latencyBench } from './parts/latency.mjs';
import { resumeBench } from './parts/resume.mjs';
import { sendBench } from './parts/send.mjs';
import { Table } from './support/table.mjs';

const parts = {
  consume: consumeBench,
  send: sendBench,
  latency: latencyBench,
  resume: resumeBench,
};
const chosen = process.argv.slice(2).filter((name) => !name.startsWith('-'));

const kafka = await KafkaServer.start({ stockGroupSettings: true });
const driver = kafkajs({ brokers: kafka.brokers });
const raw = new Kafka({ brokers: [...kafka.brokers], logLevel: logLevel.NOTHING });
const admin = driver.admin();
const table = new Table('driver');
try {
  for (const [name, part] of Object.entries(parts))
    if (chosen.length === 0 || chosen.includes(name)) await part({ driver, admin, raw, table });
  table.write(join(import.meta.dirname, 'results'));
} finally {
  await driver.close();
  await kafka.stop();
}
