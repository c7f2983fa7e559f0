import type { BrokerDriver, Compression } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { unique } from '@nest-event-bus/testing';
import { describeWithKafka } from '../support/index.js';

/** Small and large values, similar and different, so that each codec writes several blocks. */
const values = Array.from({ length: 600 }, (_, id) =>
  JSON.stringify({
    id,
    text: 'again and again '.repeat(id % 40),
    noise: (id * 7919) ** 3 % 10_007,
  }),
);

async function withTopic(
  brokers: readonly string[],
  config: Readonly<Record<string, string>>,
  work: (topic: string, driver: BrokerDriver) => Promise<void>,
): Promise<void> {
  const driver = kafkajs({ brokers, clientId: 'compression-spec' });
  try {
    const topic = unique('compression');
    await driver.admin().createTopics([{ name: topic, partitions: 1, config }]);
    await work(topic, driver);
  } finally {
    await driver.close();
  }
}

async function write(driver: BrokerDriver, topic: string, compression: Compression): Promise<void> {
  const producer = driver.producer({ compression, batchBytes: 1024 * 1024 });
  await producer.send(values.map((value) => ({ topic, partition: 0, value })));
  await producer.close();
}

async function readValues(driver: BrokerDriver, topic: string): Promise<string[]> {
  const read: string[] = [];
  const range = driver.admin().readRange(topic, 0, 0, Number.MAX_SAFE_INTEGER);
  for await (const { value } of range) read.push(String(value));
  return read;
}

/**
 * If a topic has its own `compression.type`, the broker compresses batches again with another
 * codec. So Java decompresses what this library has compressed, and this library decompresses what
 * Java has compressed.
 */
describeWithKafka('compression on a real broker', ({ brokers }) => {
  const { compressions } = kafkajs({ brokers }).capabilities;

  it.each(compressions)(
    'the consumer reads what the producer has written with %s',
    async (compression) => {
      await withTopic(brokers, {}, async (topic, driver) => {
        await write(driver, topic, compression);
        expect(await readValues(driver, topic)).toEqual(values);
      });
    },
  );

  it.each(compressions)('Java reads what the producer has written with %s', async (compression) => {
    const other = compression === 'gzip' ? 'uncompressed' : 'gzip';
    await withTopic(brokers, { 'compression.type': other }, async (topic, driver) => {
      await write(driver, topic, compression);
      expect(await readValues(driver, topic)).toEqual(values);
    });
  });

  it.each(['gzip', 'snappy', 'lz4', 'zstd'])(
    'the consumer reads what Java has written with %s',
    async (type) => {
      await withTopic(brokers, { 'compression.type': type }, async (topic, driver) => {
        await write(driver, topic, 'none');
        expect(await readValues(driver, topic)).toEqual(values);
      });
    },
  );
});
