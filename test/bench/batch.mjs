// npm run bench -- batch [handlers] [failures] [publishing]: batch handlers compared with single records and
// with kafkajs eachBatch, with and without failing records, and `publishAll` compared with the driver, on one
// broker with default group settings. `--cpu` measures by processor time, for a machine that is busy with
// other things.
import { join } from 'node:path';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { KafkaServer } from '@nest-event-bus/testing';
import { Kafka, logLevel } from 'kafkajs';
import { batchFailuresBench } from './parts/batch/failures.mjs';
import { batchHandlersBench } from './parts/batch/handlers.mjs';
import { publishingBench } from './parts/batch/publishing.mjs';
import { Table } from './support/table.mjs';

const parts = {
  handlers: batchHandlersBench,
  failures: batchFailuresBench,
  publishing: publishingBench,
};
const chosen = process.argv.slice(2).filter((name) => !name.startsWith('-'));

const kafka = await KafkaServer.start({ stockGroupSettings: true });
const { brokers } = kafka;
const driver = kafkajs({ brokers });
const raw = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING });
const table = new Table('batch');
try {
  const admin = driver.admin();
  for (const [name, part] of Object.entries(parts))
    if (chosen.length === 0 || chosen.includes(name))
      await part({ brokers, driver, admin, raw, table });
  table.write(join(import.meta.dirname, 'results'));
} finally {
  await driver.close();
  await kafka.stop();
}
