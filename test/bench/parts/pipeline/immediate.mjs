import { EVERYTHING_ON } from '../../support/bus.mjs';
import { busRate } from '../../support/bus-rate.mjs';
import { compareRates } from '../../support/compare.mjs';
import { fillTopic } from '../../support/fill-topic.mjs';

const RECORDS = 200_000;
/** The broker answers a commit after 5 ms or more, so all records would take a quarter of an hour. */
const RAW_RECORDS = 600;
let groups = 0;

/** Compares MANUAL_IMMEDIATE with a commit that is awaited after each record. */
export async function immediateBench({ brokers, driver, admin, raw, table }) {
  const topic = await fillTopic({ driver, admin }, 'bench-immediate', { records: RECORDS });
  const binding = { admin, brokers, topic, records: RECORDS, ...EVERYTHING_ON };
  const ours = {
    name: 'event bus',
    run: () => busRate({ ...binding, ackMode: 'MANUAL_IMMEDIATE' }),
  };
  const theirs = { name: 'kafkajs commitOffsets', run: () => commitEach(raw, topic) };
  const result = await compareRates(ours, theirs);
  table.add('MANUAL_IMMEDIATE / raw commit per record', result, {
    goal: '>= 100',
    unit: 'records/s',
  });
}

async function commitEach(raw, topic) {
  const consumer = raw.consumer({ groupId: `${topic}-raw-${++groups}` });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  let seen = 0;
  let startedAt = 0;
  let finish;
  const finished = new Promise((resolve) => (finish = resolve));
  consumer.on(consumer.events.FETCH_START, () => (startedAt ||= performance.now()));
  await consumer.run({
    autoCommit: false,
    async eachMessage({ partition, message: { offset, value } }) {
      if (seen === RAW_RECORDS) return;
      JSON.parse(value.toString());
      await consumer.commitOffsets([{ topic, partition, offset: String(BigInt(offset) + 1n) }]);
      if (++seen === RAW_RECORDS) finish(performance.now());
    },
  });
  const rate = RAW_RECORDS / (((await finished) - startedAt) / 1_000);
  await consumer.disconnect();
  return rate;
}
