import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime } from '@nest-event-bus/broker/runtime';
import fc from 'fast-check';
import { hostileRetryRecords } from '../../../../libs/core/src/failures/retry-topics/hostile-retry-records.spec-support.js';
import { describeWithKafka } from '../../support/index.js';
import { OrdersTestBus } from '../support/orders-test-bus.js';

const PARTITIONS = 12;
const DELAY_MS = 300;
/** Before the second and last delivery of the tier. */
const LONGEST_DELAY_MS = 900;

describeWithKafka(
  'Records with hostile control headers in a retry topic of a real Kafka',
  ({ brokers }) => {
    it('hold up the record behind them no longer than the longest delay of the tier', async () => {
      const testBus = new OrdersTestBus(brokers);
      const driver = kafkajs({ brokers });
      const handledAt = new Map<number, number>();
      testBus.handle = ({ value, partition }) => {
        if (value === 'bad') throw new Error('no');
        if (value === 'good') handledAt.set(partition, realRuntime.now());
      };
      try {
        const config = { 'message.timestamp.after.max.ms': '9000000000000000' };
        await testBus.createTopics({ tiers: 1, partitions: PARTITIONS, config });
        const tiers = [{ delayMs: DELAY_MS, multiplier: 3, maxAttempts: 2 }];
        const retry = { tier0: { maxAttempts: 1 }, tiers };
        await testBus.start({ retry, deserializer: 'text' });
        const now = realRuntime.now();
        const some = fc.array(hostileRetryRecords(now), { minLength: 1, maxLength: 4 });
        const hostile = fc.sample(some, { numRuns: PARTITIONS, seed: 5 });
        const good = { value: 'good', timestamp: now };
        const topic = testBus.retryTopic(1);
        const records = hostile.flatMap((list, partition) =>
          [...list, good].map((record) => ({ ...record, topic, partition })),
        );
        await driver.producer().send(records);
        await testBus.until('the good records', () => handledAt.size === PARTITIONS);
        const waits = [...handledAt.values()].map((at) => at - now);
        expect(Math.min(...waits)).toBeGreaterThanOrEqual(DELAY_MS);
        // A busy machine is slow, but it does not take minutes.
        expect(Math.max(...waits)).toBeLessThan(LONGEST_DELAY_MS + 60_000);
      } finally {
        await driver.close();
        await testBus.end();
      }
    }, 180_000);
  },
);
