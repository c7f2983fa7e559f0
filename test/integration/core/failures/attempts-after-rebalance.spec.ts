import { describeWithKafka } from '../../support/index.js';
import { OrdersTestBus } from '../support/orders-test-bus.js';

const PARTITIONS = 4;
const SETTINGS = {
  retry: { tier0: { maxAttempts: 5, initialBackoffMs: 1_500, multiplier: 1 }, tiers: [] },
} as const;

describeWithKafka(
  'The attempts of records that are retried in memory on a real Kafka',
  ({ brokers }) => {
    it('are counted on if a rebalance moves their partitions to another application', async () => {
      const testBus = new OrdersTestBus(brokers);
      const totals = new Map<string, number[]>();
      testBus.handle = ({ value }, { attempt }) => {
        const name = String(value);
        totals.set(name, [...(totals.get(name) ?? []), attempt.total]);
        throw new Error('the warehouse does not answer');
      };
      try {
        await testBus.createTopics({ partitions: PARTITIONS });
        await testBus.start(SETTINGS);
        for (let partition = 0; partition < PARTITIONS; partition++)
          await testBus.writeTo(partition, String(partition));
        await testBus.until(
          'a second call of each record',
          () =>
            [...totals.values()].every((calls) => calls.length > 1) && totals.size === PARTITIONS,
        );
        await testBus.start(SETTINGS);
        await testBus.until(
          'the dead letters',
          async () => {
            return (await testBus.letters()).length === PARTITIONS;
          },
          40_000,
        );
        const letters = await testBus.letters();
        for (const calls of totals.values())
          expect(calls).toEqual(calls.map((_, index) => index + 1));
        for (const { value, totalAttempts } of letters)
          expect(totalAttempts).toBe(totals.get(String(value))!.length);
        // The records that moved had the calls of a delivery that was cancelled, and five more.
        const most = Math.max(...letters.map(({ totalAttempts }) => totalAttempts));
        expect(most).toBeGreaterThan(5);
      } finally {
        await testBus.end();
      }
    }, 180_000);
  },
);
