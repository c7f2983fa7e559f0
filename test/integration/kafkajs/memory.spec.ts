import { join } from 'node:path';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import {
  fillTopic,
  judgeMemory,
  measureMemory,
  mebibytes,
} from '../../bench/support/memory-run.mjs';
import { describeWithKafka } from '../support/index.js';

const RECORDS = 200_000;
const HELD = 200;
const LASTS_MS = 5_000;
const PARTITIONS = 16;
const BUDGET_BYTES = 8 * 1024 * 1024;
const PROGRAM = join(__dirname, '../../bench/support/memory-consumer.mjs');
const LOADER = join(__dirname, '../support/run-typescript.mjs');

describeWithKafka('memory of a consumer', ({ brokers, unique }) => {
  it('stays within the prefetch budget if the application keeps some of the records', async () => {
    const driver = kafkajs({ brokers });
    const topic = unique('memory');
    await fillTopic(driver, { topic, partitions: PARTITIONS, records: RECORDS });
    await driver.close();
    const order = {
      brokers,
      topic,
      records: RECORDS,
      held: HELD,
      lastsMs: LASTS_MS,
      budgetBytes: BUDGET_BYTES,
    };
    const figures = await measureMemory(PROGRAM, order, ['--import', LOADER]);
    const { grown, mayGrow, held, mayHold } = judgeMemory(figures, {
      budgetBytes: BUDGET_BYTES,
      held: HELD,
    });
    process.stderr.write(
      `memory: in use ${mebibytes(figures.baseline)}, grown by ${mebibytes(grown)} of ${mebibytes(mayGrow)} allowed; budget used ${mebibytes(figures.mostPrefetched)}; ${HELD} held records pin ${mebibytes(held)}\n`,
    );
    // Asserts that the budget was used. Otherwise this test would prove nothing.
    expect(figures.mostPrefetched).toBeGreaterThan(BUDGET_BYTES / 2);
    expect(figures.mostPrefetched).toBeLessThanOrEqual(BUDGET_BYTES);
    expect(grown).toBeLessThanOrEqual(mayGrow);
    expect(held).toBeLessThanOrEqual(mayHold);
    expect(figures.leakWarnings).toEqual([]);
  });
});
