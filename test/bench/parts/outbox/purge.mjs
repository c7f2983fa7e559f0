import { publishAtRate } from '../../support/outbox-load.mjs';
import { percentile } from '../../support/percentile.mjs';

const ROWS = 500_000;
const BATCH = 500;
const TOPIC = 'bench-outbox-purge';

/** Purges finished events in the default batches, while others are written and published. */
export async function purgeBench({ driver, outbox, table }) {
  await outbox.clear();
  await outbox.fill(ROWS, { status: 1 });
  await driver.admin().createTopics([{ name: TOPIC, partitions: 3 }]);
  const producer = driver.producer({ lingerMs: 0 });
  const load = publishAtRate({ outbox, producer, topic: TOPIC, rate: 500, seconds: 20 });
  const startedAt = performance.now();
  const before = Date.now() - 7 * 86_400_000;
  let purged = 0;
  for (let deleted = BATCH; deleted === BATCH; purged += deleted)
    deleted = await outbox.run((connection) => outbox.purger.purge(connection, before, BATCH));
  const seconds = (performance.now() - startedAt) / 1_000;
  const { latencies } = await load;
  await producer.close();
  if (purged !== ROWS) throw new Error(`${purged} events were purged`);
  table.note('purge of 500,000 beside 500 events/s', purged / seconds, 'rows/s', '');
  table.note('commit to Kafka meanwhile, p99', percentile(latencies, 99), 'ms', '');
}
