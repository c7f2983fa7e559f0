// npm run bench -- memory: 200 records held for a minute while a million flow by, with the process's budget.
import { join } from 'node:path';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { KafkaServer } from '@nest-event-bus/testing';
import { fillTopic, judgeMemory, measureMemory, mebibytes } from './support/memory-run.mjs';

const RECORDS = 1_000_000;
const HELD = 200;
const LASTS_MS = 60_000;
/** As many as it takes to fill the budget with two answers of 1 MiB for each. */
const PARTITIONS = 48;
/** The process's own, which is not given here: the default is what is measured. */
const BUDGET_BYTES = 64 * 1024 * 1024;
const PROGRAM = join(import.meta.dirname, 'support/memory-consumer.mjs');

const kafka = await KafkaServer.start({ stockGroupSettings: true });
const topic = 'bench-memory';
const order = { brokers: kafka.brokers, topic, records: RECORDS, held: HELD, lastsMs: LASTS_MS };
const figures = await measured();
const verdict = judgeMemory(figures, { budgetBytes: BUDGET_BYTES, held: HELD });
const within = verdict.grown <= verdict.mayGrow;
console.log(
  `\nmemory: ${RECORDS} records of 200 bytes in ${LASTS_MS / 1_000} s, ${HELD} of them held\n`,
);
console.table({
  baseline: mebibytes(figures.baseline),
  'peak in use (after a collection)': mebibytes(figures.peakInUse),
  'peak with garbage': mebibytes(figures.peakWithGarbage),
  'grown by, in use': mebibytes(verdict.grown),
  'allowed: the budget of 64 MiB and a fifth': mebibytes(verdict.mayGrow),
  [`held by ${HELD} records`]: mebibytes(verdict.held),
  [`allowed: ${HELD} x 16 KiB and 1 MiB`]: mebibytes(verdict.mayHold),
});
console.log(within ? 'within the budget plus 20 %' : 'BEYOND the budget plus 20 %');
if (!within || verdict.held > verdict.mayHold) process.exitCode = 1;

async function measured() {
  try {
    const driver = kafkajs({ brokers: kafka.brokers });
    await fillTopic(driver, { topic, partitions: PARTITIONS, records: RECORDS });
    await driver.close();
    return await measureMemory(PROGRAM, order);
  } finally {
    await kafka.stop();
  }
}
