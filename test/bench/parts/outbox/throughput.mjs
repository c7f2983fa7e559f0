import { compareRates } from '../../support/compare.mjs';
import { relayInBatches, relayOneByOne } from '../../support/outbox-relays.mjs';

const OURS = 60_000;
const THEIRS = 6_000;
const TOPIC = 'bench-outbox';

/** A backlog of events, from the first claim to the last completion, on one node. */
export async function throughputBench({ driver, outbox, table }) {
  await driver.admin().createTopics([{ name: TOPIC, partitions: 3 }]);
  const producer = driver.producer({ lingerMs: 0 });
  const rate = async (relay, count) => {
    await outbox.clear();
    await outbox.fill(count);
    const startedAt = performance.now();
    const published = await relay({ outbox, producer, topic: TOPIC, count });
    const seconds = (performance.now() - startedAt) / 1_000;
    if (published !== count) throw new Error(`${published} of ${count} events were published`);
    await outbox.requireFinished();
    return count / seconds;
  };
  const result = await compareRates(
    { name: 'batches', run: () => rate(relayInBatches, OURS) },
    { name: 'one by one', run: () => rate(relayOneByOne, THEIRS) },
    { rounds: 3 },
  );
  table.add('events published, 1,000 keys', result, { goal: '>= 10', unit: 'events/s' });
  await producer.close();
}
