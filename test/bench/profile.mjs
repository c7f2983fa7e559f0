// npm run bench -- profile [async] [functions]: where time is spent between the broker and an empty handler
// with all features enabled, by folder of this project or by function.
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { KafkaServer } from '@nest-event-bus/testing';
import { EVERYTHING_ON } from './support/bus.mjs';
import { busRate } from './support/bus-rate.mjs';
import { fillTopic } from './support/fill-topic.mjs';
import { functionOf, folderOf, whereTimeGoes } from './support/where-time-goes.mjs';

const RECORDS = 400_000;
const WARM_UPS = 2;
const LEAST_SHARE = 0.005;
const asked = process.argv.slice(2);

const kafka = await KafkaServer.start({ stockGroupSettings: true });
const { brokers } = kafka;
const driver = kafkajs({ brokers });
try {
  const admin = driver.admin();
  const topic = await fillTopic({ driver, admin }, 'bench-profile', { records: RECORDS });
  const isAsync = asked.includes('async');
  const binding = { admin, brokers, topic, records: RECORDS, ackMode: 'MANUAL', ...EVERYTHING_ON };
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
