import { publishAtRate } from '../../support/outbox-load.mjs';
import { percentile } from '../../support/percentile.mjs';

const RATE = 2_000;
const TOPIC = 'bench-outbox-latency';

/** The time from a commit to the acknowledgement of Kafka, at a steady rate. */
export async function latencyBench({ driver, outbox, table }) {
  await outbox.clear();
  await driver.admin().createTopics([{ name: TOPIC, partitions: 3 }]);
  const producer = driver.producer({ lingerMs: 0 });
  const load = { outbox, producer, topic: TOPIC, rate: RATE };
  await publishAtRate({ ...load, seconds: 3 });
  const { latencies } = await publishAtRate({ ...load, seconds: 15 });
  await producer.close();
  table.note('commit to Kafka at 2,000/s, p50', percentile(latencies, 50), 'ms', '');
  table.note('the same, p99', percentile(latencies, 99), 'ms', '<= 100');
}
