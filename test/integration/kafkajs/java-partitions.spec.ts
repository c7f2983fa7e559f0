import { randomBytes, randomInt } from 'node:crypto';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { partitionOfKey } from '../../../libs/broker/src/records/partition-of-key.js';
import { describeWithJava, describeWithKafka } from '../support/index.js';
import { runJavaProgram } from './java/java-program.js';

jest.setTimeout(180_000);

const PARTITION_COUNTS = [1, 3, 12, 100];
const KEYS = 10_000;

const LETTERS = 'a Z 0 9 - _ . ß ü ñ € 漢 字 🚆'.split(' ');
const randomText = (): string =>
  Array.from({ length: randomInt(1, 60) }, () => LETTERS[randomInt(LETTERS.length)]).join('');

/**
 * Keys as bytes and as text, of all lengths: some are empty, and some exceed the shared hash
 * buffer.
 */
const randomKeys = (): (Buffer | string)[] => [
  '',
  Buffer.alloc(0),
  randomText().repeat(100),
  ...Array.from({ length: KEYS - 3 }, (_, index) =>
    index % 2 === 0 ? randomBytes(randomInt(0, 80)) : randomText(),
  ),
];

const base64 = (key: Buffer | string): string =>
  (typeof key === 'string' ? Buffer.from(key) : key).toString('base64');

describeWithJava("Java's partitioner and that of this library", () =>
  describeWithKafka('on one broker', ({ brokers, unique }) => {
    const driver = kafkajs({ brokers });
    afterAll(() => driver.close());

    it(`choose the same partition for each of ${KEYS} keys`, async () => {
      const keys = randomKeys();
      for (const count of PARTITION_COUNTS) {
        const theirs = (
          await runJavaProgram('KeyPartitions', [String(count)], keys.map(base64))
        ).map(Number);
        expect(theirs).toHaveLength(KEYS);
        const differing = keys.filter((key, index) => partitionOfKey(key, count) !== theirs[index]);
        expect(differing.map(base64)).toEqual([]);
      }
    });

    it('write each key to the same partition, and records without a key to any partition', async () => {
      const [topic, keys] = [unique('interop'), randomKeys()];
      await driver.admin().createTopics([{ name: topic, partitions: 7 }]);
      const producer = driver.producer();
      const written = await producer.send(keys.map((key) => ({ topic, key, value: null })));
      const theirs = (await runJavaProgram('KeyPartitions', ['7'], keys.map(base64))).map(Number);
      expect(written.map(({ partition }) => partition)).toEqual(theirs);
      const withoutKey = Array.from({ length: 2_000 }, () => ({
        topic,
        key: null,
        value: 'x'.repeat(100),
      }));
      const places = (await producer.send(withoutKey)).map(({ partition }) => partition);
      // An empty key always maps to the same partition. Records without a key go to several
      // partitions.
      expect(new Set(places).size).toBeGreaterThan(1);
    });
  }),
);
