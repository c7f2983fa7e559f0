// npm run bench -- outbox: the outbox of PostgreSQL, published to a Kafka. The database comes from
// POSTGRES_URL. Names of parts choose some of them: throughput insert idle backlog latency purge.
import { join } from 'node:path';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { KafkaServer } from '@nest-event-bus/testing';
import { backlogBench } from './parts/outbox/backlog.mjs';
import { idleBench } from './parts/outbox/idle.mjs';
import { insertBench } from './parts/outbox/insert.mjs';
import { latencyBench } from './parts/outbox/latency.mjs';
import { purgeBench } from './parts/outbox/purge.mjs';
import { throughputBench } from './parts/outbox/throughput.mjs';
import { OutboxTable } from './support/outbox-table.mjs';
import { Table } from './support/table.mjs';

const PARTS = {
  throughput: throughputBench,
  insert: insertBench,
  idle: idleBench,
  backlog: backlogBench,
  latency: latencyBench,
  purge: purgeBench,
};

const chosen = process.argv.slice(2).filter((name) => name in PARTS);
const names = chosen.length > 0 ? chosen : Object.keys(PARTS);
const kafka = await KafkaServer.start({ stockGroupSettings: true });
const driver = kafkajs({ brokers: kafka.brokers });
const table = new Table('outbox');
const outbox = await OutboxTable.create();
try {
  await outbox.requireDurable();
  for (const name of names) await PARTS[name]({ driver, outbox, table });
  table.write(join(import.meta.dirname, 'results'));
} finally {
  await outbox.drop();
  await driver.close();
  await kafka.stop();
}
