import { clock } from './clock.mjs';
import { requireAll } from './fill-topic.mjs';

let groups = 0;

/**
 * The fastest loop of kafkajs, eachBatch + JSON.parse, commits included. Returns records per second.
 *
 * @param {import('kafkajs').Kafka} raw
 * @param {string} topic
 * @param {{ records: number, each?: (order: any, message: any) => Promise<unknown> | void }} about
 *   `each`: what is done with every record besides; a promise is awaited
 */
export async function rawEachBatch(raw, topic, { records, each }) {
  const consumer = raw.consumer({ groupId: `${topic}-each-batch-${++groups}` });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  let seen = 0;
  let checksum = 0;
  let startedAt = 0;
  let finish;
  const finished = new Promise((resolve) => (finish = resolve));
  // Starts before its first batch, because a whole response is decoded before that: most of the topic if it
  // is compressed.
  consumer.on(consumer.events.FETCH_START, () => (startedAt ||= clock()));
  await consumer.run({
    eachBatchAutoResolve: true,
    autoCommitThreshold: 5_000,
    async eachBatch({ batch }) {
      for (const message of batch.messages) {
        const order = JSON.parse(message.value.toString());
        checksum += order.id;
        const later = each?.(order, message);
        if (later) await later;
      }
      seen += batch.messages.length;
      if (seen >= records) finish(clock());
    },
  });
  const rate = records / (((await finished) - startedAt) / 1_000);
  requireAll(checksum, records);
  await consumer.disconnect();
  return rate;
}
