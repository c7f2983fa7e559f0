import { plainToInstance } from 'class-transformer';
import { validate } from 'class-validator';
import { z } from 'zod';
import { EVERYTHING_ON } from '../../support/bus.mjs';
import { busRate } from '../../support/bus-rate.mjs';
import { compareRates } from '../../support/compare.mjs';
import { confluentRate, loadConfluent } from '../../support/confluent.mjs';
import { fillTopic } from '../../support/fill-topic.mjs';
import { microserviceRate } from '../../support/microservice.mjs';
import { Order } from '../../support/order-payload.mjs';
import { rawEachBatch } from '../../support/raw-each-batch.mjs';

const RECORDS = 200_000;
const UNIT = 'records/s';
const orderSchema = z.object({
  id: z.int(),
  customer: z.string(),
  amount: z.number(),
  currency: z.string(),
  note: z.string(),
});

/** MANUAL with one commit per slice. Handlers do nothing, so that only the path to them and back is measured. */
export async function throughputBench({ brokers, driver, admin, raw, table }) {
  const topic = await fillTopic({ driver, admin }, 'bench-pipeline', { records: RECORDS });
  const binding = { admin, brokers, topic, records: RECORDS, ackMode: 'MANUAL', ...EVERYTHING_ON };
  const bus = (more = {}) => ({ name: 'event bus', run: () => busRate({ ...binding, ...more }) });
  const eachBatch = (each) => ({
    name: 'kafkajs eachBatch',
    run: () => rawEachBatch(raw, topic, { records: RECORDS, each }),
  });
  const compare = async (what, ours, theirs, goal) =>
    table.add(what, await compareRates(ours, theirs), { goal, unit: UNIT });

  await compare('handler, MANUAL / eachBatch + JSON.parse', bus(), eachBatch(), '>= 1.5');
  await compare('the same, async handler', bus({ isAsync: true }), eachBatch(), '>= 1.5');
  await compare(
    'the same, handler reads all it is given',
    bus({ each: readAll }),
    eachBatch(),
    '-',
  );
  await compare('the same, payload by zod', bus({ payload: orderSchema }), eachBatch(), '-');
  await compare(
    'payload by zod, on both sides',
    bus({ payload: orderSchema }),
    eachBatch((order) => void orderSchema.parse(order)),
    '-',
  );
  await compare(
    'payload by class-validator, on both sides',
    bus({ payload: Order }),
    eachBatch((order) => validate(plainToInstance(Order, order))),
    '-',
  );
  const nest = {
    name: '@nestjs/microservices',
    run: () => microserviceRate(brokers, topic, RECORDS),
  };
  await compare('handler, MANUAL / @nestjs/microservices', bus(), nest, '>= 5');
  const confluent = await loadConfluent();
  if (!confluent) return;
  const run = () => confluentRate(confluent, brokers, topic, RECORDS);
  await compare(
    'handler, MANUAL / confluent consume(1000)',
    bus(),
    { name: 'confluent', run },
    '>= 2.5',
  );
}

/** Reads the properties that cost something only when they are read. */
async function readAll({ key, headers }, { signal, attempt, log, dedupKey }) {
  signal.throwIfAborted();
  headers.get('x-header-1');
  headers.get('x-eventbus-received-timestamp');
  return [key, attempt.total, log, dedupKey];
}
