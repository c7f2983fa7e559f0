import { headersOf, orderJson } from './payloads.mjs';

/** Creates a topic with this many records, each 200 bytes of JSON, spread evenly over its partitions. */
export async function fillTopic(
  { driver, admin },
  topic,
  { records, partitions = 3, headers = 4, compression = 'none', keyOf = (index) => `key-${index}` },
) {
  await admin.createTopics([{ name: topic, partitions }]);
  const producer = driver.producer({ compression, batchBytes: 256 * 1024 });
  const given = headersOf(headers);
  for (let from = 0; from < records; from += 5_000) {
    const count = Math.min(5_000, records - from);
    await producer.send(
      Array.from({ length: count }, (_, index) => ({
        topic,
        partition: (from + index) % partitions,
        key: keyOf(from + index),
        value: orderJson(from + index),
        headers: given,
      })),
    );
  }
  await producer.close();
  return topic;
}

/** Checks by the sum of the order ids that each record arrived once. */
export function requireAll(checksum, records) {
  const expected = (records * (records - 1)) / 2;
  if (checksum !== expected) throw new Error(`Records are missing: ${checksum} of ${expected}.`);
}
