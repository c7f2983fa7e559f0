import { compareRates } from '../../support/compare.mjs';
import { clock } from '../../support/clock.mjs';
import { createTopics, startReplay, writeLetters } from './letters.mjs';

/** The settings of the producer of a redrive. */
const TRANSACTIONS = {
  transactionTimeoutMs: 30_000,
  deliveryTimeoutMs: 20_000,
  requestTimeoutMs: 10_000,
  lingerMs: 0,
  batchBytes: 256 * 1024,
  maxRequestBytes: 96 * 1024 * 1024,
  bufferBytes: 96 * 1024 * 1024,
};
const RECORDS_PER_TRANSACTION = 1_000;

/** A redrive of all letters, compared with a loop that reads the same records and writes them to another topic. */
export async function runBench(bench) {
  for (const partitions of bench.partitions) {
    const topic = `bench-redrive-${partitions}`;
    const letters = { topic, letters: bench.letters, partitions };
    const { deadLetters } = await createTopics(bench, letters);
    await bench.admin.createTopics([{ name: `${topic}.copy`, partitions }]);
    const application = await startReplay(bench, topic);
    const ours = { name: 'redrive', run: () => redrive(bench, application.replay, letters) };
    const raw = { name: 'raw loop', run: () => copyAll(bench, { ...letters, deadLetters }) };
    bench.table.add(
      `redrive / raw read and write, ${partitions} partition${partitions > 1 ? 's' : ''}`,
      await compareRates(ours, raw),
      { goal: '>= 0.8', unit: 'letters/s' },
    );
    await application.close();
  }
}

/** Measures a run of a plan with new letters. Those of the round before are purged. */
async function redrive(bench, replay, given) {
  await replay.purge('bench', { olderThan: '1ms' });
  await writeLetters(bench, given);
  const { letters } = given;
  const { id, selected } = await replay.plan('bench', { all: true });
  if (selected !== letters) throw new Error(`The plan selects ${selected} of ${letters}.`);
  const startedAt = clock();
  const { replayed } = await replay.run('bench', id);
  const rate = letters / ((clock() - startedAt) / 1_000);
  if (replayed !== letters) throw new Error(`Replayed ${replayed} of ${letters}.`);
  return rate;
}

async function copyAll({ driver, admin }, { topic, deadLetters, letters }) {
  const startedAt = clock();
  const marks = await admin.watermarks(deadLetters);
  const copied = await Promise.all(
    marks.map((range) => copyPartition({ driver, admin, topic, deadLetters }, range)),
  );
  const sum = copied.reduce((total, each) => total + each, 0);
  if (sum !== letters) throw new Error(`Copied ${sum} of ${letters}.`);
  return letters / ((clock() - startedAt) / 1_000);
}

async function copyPartition({ driver, admin, topic, deadLetters }, { partition, low, high }) {
  const producer = driver.producer({
    ...TRANSACTIONS,
    transactionalId: `raw-${deadLetters}-${partition}`,
  });
  let [batch, copied] = [[], 0];
  const write = async () => {
    const transaction = await producer.transaction();
    await transaction.send(batch);
    await transaction.commit();
    copied += batch.length;
    batch = [];
  };
  for await (const { key, value, headers } of admin.readRange(deadLetters, partition, low, high)) {
    batch.push({ topic: `${topic}.copy`, partition, key, value, headers });
    if (batch.length === RECORDS_PER_TRANSACTION) await write();
  }
  if (batch.length > 0) await write();
  await producer.close();
  return copied;
}
