// npm run bench -- soak [--minutes 10]: a process that consumes, commits, sends, pauses, seeks, rebalances
// and uses transactions all the time, on one broker. Its memory must not grow.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { KafkaServer } from '@nest-event-bus/testing';
import { soakBench } from './parts/soak.mjs';
import { Table } from './support/table.mjs';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' } } });

const kafka = await KafkaServer.start();
const table = new Table('soak');
try {
  const isFlat = await soakBench({
    brokers: kafka.brokers,
    table,
    minutes: Number(values.minutes),
  });
  table.write(join(import.meta.dirname, 'results'));
  if (!isFlat) process.exitCode = 1;
} finally {
  await kafka.stop();
}
