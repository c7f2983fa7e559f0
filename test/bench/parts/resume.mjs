import { percentile } from '../support/compare.mjs';
import { orderJson } from '../support/payloads.mjs';

const ROUNDS = 200;

/**
 * A partition is paused while the broker holds a long poll for the others. Measures from the resume to its
 * first record.
 */
export async function resumeBench({ driver, admin, table }) {
  const topic = 'bench-resume';
  await admin.createTopics([{ name: topic, partitions: 3 }]);
  const producer = driver.producer();
  const session = driver.consumer({ groupId: 'bench-resume', topics: [topic] });
  await session.start({ onAssigned() {}, onRevoked() {}, onLost() {} });
  const paused = [{ topic, partition: 0 }];
  const delays = [];
  for (let round = 0; round < ROUNDS; round++) {
    session.pause(paused);
    await producer.send([{ topic, partition: 0, value: orderJson(round) }]);
    await new Promise((resolve) => setTimeout(resolve, 10 + (round % 7) * 5));
    const resumedAt = performance.now();
    session.resume(paused);
    await session.poll(10);
    delays.push(performance.now() - resumedAt);
  }
  table.note('resume to the first record, p50', percentile(delays, 0.5), 'ms', '-');
  table.note('resume to the first record, p99', percentile(delays, 0.99), 'ms', '<= 20');
  await Promise.all([session.close(), producer.close()]);
}
