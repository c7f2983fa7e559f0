import type { OutgoingRecord } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { describeWithKafka } from '../../support/index.js';
import { OrdersTestBus, tiersOf } from '../support/orders-test-bus.js';

const HEADERS = [
  { key: 'b', value: Buffer.from([0, 255]) },
  { key: 'a', value: Buffer.from('1') },
  { key: 'b', value: null },
  { key: '', value: Buffer.from('') },
  { key: 'a', value: Buffer.from('2') },
];
const isOwn = ({ key }: { readonly key: string }): boolean => !key.startsWith('x-eventbus-');

const RECORDS: readonly Pick<OutgoingRecord, 'key' | 'value'>[] = [
  { key: Buffer.from('k'), value: null },
  { key: null, value: Buffer.from([0, 255, 1, 254]) },
  { key: Buffer.from([0, 255]), value: Buffer.from('') },
  { key: Buffer.from(''), value: Buffer.from('  { "id" : 1.0 }') },
];

describeWithKafka('Failing records on a real Kafka', ({ brokers }) => {
  it('keep the bytes of key, value and headers, and the order of headers, in all retry topics and in dead letters', async () => {
    const testBus = new OrdersTestBus(brokers);
    const driver = kafkajs({ brokers });
    try {
      await testBus.createTopics({ tiers: 2 });
      const retry = { tier0: { maxAttempts: 1 }, tiers: tiersOf(100, 200) };
      await testBus.start({ retry, deserializer: 'raw' });
      const timestamp = 1_700_000_000_123;
      const written = RECORDS.map((record) => ({ ...record, headers: HEADERS, timestamp }));
      const { topic } = testBus;
      await driver.producer().send(written.map((each) => ({ ...each, topic, partition: 0 })));
      await testBus.until(
        'the dead letters',
        async () => (await testBus.letters()).length === RECORDS.length,
      );
      for (const name of [testBus.retryTopic(1), testBus.retryTopic(2), testBus.deadLetterTopic]) {
        const hops = await testBus.records(name);
        for (const { key, value } of RECORDS) {
          const unchanged = hops.filter((hop) => hop.headers.some(isOwn) && isEqual(hop.key, key));
          expect(unchanged).toHaveLength(name === testBus.deadLetterTopic ? 1 : 3);
          for (const hop of unchanged) {
            expect(hop.value).toEqual(value);
            expect(hop.headers.filter(isOwn)).toEqual(HEADERS);
          }
        }
      }
      const letters = await testBus.letters();
      expect(letters.map(({ originalTimestamp }) => originalTimestamp)).toEqual(
        RECORDS.map(() => timestamp),
      );
      expect(letters.every((letter) => letter.originalTimestampType === 'CreateTime')).toBe(true);
      expect(new Set(letters.map(({ originalOffset }) => originalOffset))).toEqual(
        new Set([0n, 1n, 2n, 3n]),
      );
      expect(letters.every(({ totalAttempts }) => totalAttempts === 7)).toBe(true);
    } finally {
      await driver.close();
      await testBus.end();
    }
  }, 180_000);
});

function isEqual(one: Buffer | null, other: OutgoingRecord['key']): boolean {
  if (one === null || other === null || other === undefined) return one === (other ?? null);
  return one.equals(Buffer.from(other));
}
