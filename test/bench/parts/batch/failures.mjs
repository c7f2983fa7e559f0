import { BatchProcessingException, ConsumerResult } from '@nest-event-bus/core';
import { busRate } from '../../support/bus-rate.mjs';
import { compareRates } from '../../support/compare.mjs';
import { fillTopic } from '../../support/fill-topic.mjs';

const RECORDS = 100_000;
const GOALS = { 1: '>= 150,000', 10: '>= 35,000' };

/** Failing records go to the dead-letter topic. Tier 0 has one call, because its waits are chosen by the user. */
export async function batchFailuresBench({ brokers, driver, admin, table }) {
  const topic = await fillTopic({ driver, admin }, 'bench-batch-failures', { records: RECORDS });
  await admin.createTopics([{ name: `${topic}.DLT`, partitions: 3 }]);
  const retry = { tier0: { maxAttempts: 1 }, tiers: [] };
  const binding = { admin, brokers, topic, records: RECORDS, retry };
  for (const percent of [1, 10]) {
    const failEvery = 100 / percent;
    const contender = (name, more) => ({
      name,
      run: () => busRate({ ...binding, failEvery, ...more }),
    });
    const single = contender('single records', {});
    const named = { isBatch: true, act: throwAtFirst };
    const results = { isBatch: true, act: resultOfEach };
    const continues = { batchFailureStrategy: 'DLQ_AND_CONTINUE' };
    for (const [what, more] of Object.entries({
      'the error names the record': named,
      'the same, DLQ_AND_CONTINUE': { ...named, ...continues },
      'a result for each record': results,
    })) {
      const result = await compareRates(contender('batches', more), single, { rounds: 2 });
      const row = `${percent} % failing, ${what} / single records`;
      table.add(row, result, { goal: '-', unit: 'records/s' });
      table.note(`the same, batches`, result.ours.median, 'records/s', GOALS[percent]);
    }
  }
}

/** Handles the records before the first bad one. */
export function throwAtFirst(records, isBad, note) {
  const index = records.findIndex(({ value }) => isBad(value));
  const done = index === -1 ? records : records.slice(0, index);
  for (const { value } of done) note(value);
  if (index !== -1) throw new BatchProcessingException(index, 'bad', records);
}

function resultOfEach(records, isBad, note) {
  return records.map(({ value }) => {
    if (isBad(value)) return ConsumerResult.retryable('bad');
    note(value);
    return undefined;
  });
}
