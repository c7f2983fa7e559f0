// npm run bench -- profile [async] [functions] [failures]: where time is spent between the broker and an empty
// handler with all features enabled, by folder of this project or by function. `failures`: a batch handler
// names one record of a hundred that fails.
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { KafkaServer } from '@nest-event-bus/testing';
import { throwAtFirst } from './parts/batch/failures.mjs';
import { EVERYTHING_ON } from './support/bus.mjs';
import { busRate } from './support/bus-rate.mjs';
import { fillTopic } from './support/fill-topic.mjs';
import { functionOf, folderOf, whereTimeGoes } from './support/where-time-goes.mjs';

const asked = process.argv.slice(2);
const withFailures = asked.includes('failures');
const RECORDS = withFailures ? 100_000 : 400_000;
const WARM_UPS = 2;
const LEAST_SHARE = 0.005;
/** A failed record goes to the dead-letter topic at once. */
const ONE_CALL = { tier0: { maxAttempts: 1 }, tiers: [] };

const kafka = await KafkaServer.start({ stockGroupSettings: true });
const { brokers } = kafka;
const driver = kafkajs({ brokers });
try {
  const admin = driver.admin();
  const topic = await fillTopic({ driver, admin }, 'bench-profile', { records: RECORDS });
  const isAsync = asked.includes('async');
  const common = { admin, brokers, topic, records: RECORDS };
  const binding = withFailures
    ? { ...common, isBatch: true, act: throwAtFirst, failEvery: 100, retry: ONE_CALL }
    : { ...common, ackMode: 'MANUAL', ...EVERYTHING_ON };
  if (withFailures) await admin.createTopics([{ name: `${topic}.DLT`, partitions: 3 }]);
  const placeOf = asked.includes('functions') ? functionOf : folderOf;
  const run = (observe) => busRate({ ...binding, isAsync, observe });
  for (let warmUp = 0; warmUp < WARM_UPS; warmUp++) await run();
  await run(async (read) => {
    const { result, shares } = await whereTimeGoes(read, placeOf);
    for (const { place, share } of shares)
      if (share >= LEAST_SHARE) console.log(`${(share * 100).toFixed(1).padStart(5)} %  ${place}`);
    return result;
  });
} finally {
  await driver.close();
  await kafka.stop();
}
