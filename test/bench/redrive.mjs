// npm run bench -- redrive [run] [plan] [--letters 100000] [--plan-letters 1000000]: a redrive compared with a
// raw loop that copies the records with the same transaction settings, and plans of many letters.
import { join } from 'node:path';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { KafkaServer } from '@nest-event-bus/testing';
import { planBench } from './parts/redrive/plan.mjs';
import { runBench } from './parts/redrive/run.mjs';
import { Table } from './support/table.mjs';

const parts = { run: runBench, plan: planBench };
const options = process.argv.slice(2);
const chosen = options.filter((name) => name in parts);
const numberOf = (name, otherwise) => {
  const index = options.indexOf(`--${name}`);
  return index < 0 ? otherwise : Number(options[index + 1]);
};

const kafka = await KafkaServer.start({ stockGroupSettings: true });
const { brokers } = kafka;
const driver = kafkajs({ brokers });
const table = new Table('redrive');
const sizes = {
  letters: numberOf('letters', 100_000),
  partitions: options.includes('--partitions') ? [numberOf('partitions')] : [1, 6],
  planLetters: numberOf('plan-letters', 1_000_000),
};
try {
  const admin = driver.admin();
  for (const [name, part] of Object.entries(parts))
    if (chosen.length === 0 || chosen.includes(name))
      await part({ brokers, driver, admin, table, ...sizes });
  table.write(join(import.meta.dirname, 'results'));
} finally {
  await driver.close();
  await kafka.stop();
}
