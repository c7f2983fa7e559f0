import { busRate } from '../../support/bus-rate.mjs';
import { compareRates } from '../../support/compare.mjs';
import { fillTopic } from '../../support/fill-topic.mjs';
import { rawEachBatch } from '../../support/raw-each-batch.mjs';

const RECORDS = 200_000;

/** Handlers do nothing, and the bindings have default options. */
export async function batchHandlersBench({ brokers, driver, admin, raw, table }) {
  const topic = await fillTopic({ driver, admin }, 'bench-batch', { records: RECORDS });
  const binding = { admin, brokers, topic, records: RECORDS };
  const single = { name: 'single records', run: () => busRate(binding) };
  const batch = { name: 'batches', run: () => busRate({ ...binding, isBatch: true }) };
  const strict = {
    name: 'batches, commit.strict',
    run: () => busRate({ ...binding, isBatch: true, commit: { strict: true } }),
  };
  const eachBatch = {
    name: 'kafkajs eachBatch',
    run: () => rawEachBatch(raw, topic, { records: RECORDS }),
  };
  const compare = async (what, ours, theirs, goal) =>
    table.add(what, await compareRates(ours, theirs), { goal, unit: 'records/s' });
  await compare('batch handler / single records', batch, single, '>= 1');
  await compare('batch handler / eachBatch + JSON.parse', batch, eachBatch, '>= 1.5');
  await compare('batch handler, commit.strict / not strict', strict, batch, '-');
}
