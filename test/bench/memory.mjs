// npm run bench -- memory: holds 200 records for a minute while a million records are read, with the default
// memory budget of the process.
import { join } from 'node:path';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { KafkaServer } from '@nest-event-bus/testing';
import { fillTopic, judgeMemory, measureMemory, mebibytes } from './support/memory-run.mjs';

const RECORDS = 1_000_000;
const HELD_RECORDS = 200;
const LASTS_MS = 60_000;
/** Enough partitions to fill the budget with two responses of 1 MiB each. */
const PARTITIONS = 48;
/** The default of the process. It is not passed, because the default is measured. */
const BUDGET_BYTES = 64 * 1024 * 1024;
const PROGRAM = join(import.meta.dirname, 'support/memory-consumer.mjs');

const kafka = await KafkaServer.start({ stockGroupSettings: true });
const topic = 'bench-memory';
const order = {
  brokers: kafka.brokers,
  topic,
  records: RECORDS,
  held: HELD_RECORDS,
  lastsMs: LASTS_MS,
};
const figures = await measured();
const verdict = judgeMemory(figures, { budgetBytes: BUDGET_BYTES, held: HELD_RECORDS });
const within = verdict.grown <= verdict.mayGrow;
console.log(
  `\nmemory: ${RECORDS} records of 200 bytes in ${LASTS_MS / 1_000} s, ${HELD_RECORDS} of them held\n`,
);
console.table({
  baseline: mebibytes(figures.baseline),
  'peak in use (after a collection)': mebibytes(figures.peakInUse),
  'peak with garbage': mebibytes(figures.peakWithGarbage),
  'grown by, in use': mebibytes(verdict.grown),
  'allowed: the budget of 64 MiB and a fifth': mebibytes(verdict.mayGrow),
  [`held by ${HELD_RECORDS} records`]: mebibytes(verdict.held),
  [`allowed: ${HELD_RECORDS} x 16 KiB and 1 MiB`]: mebibytes(verdict.mayHold),
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
