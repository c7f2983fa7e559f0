import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { describeWithKafka } from '../../support/index.js';
import { OrdersTestBus } from '../support/orders-test-bus.js';

const SETTINGS = { processing: { by: 'key' }, deserializer: 'text', retry: { tiers: [] } } as const;

describeWithKafka('Commit metadata on a real Kafka', ({ brokers }) => {
  it('hides no record if a tool sets another offset with the same text', async () => {
    const testBus = new OrdersTestBus(brokers);
    const driver = kafkajs({ brokers });
    const { topic, groupId, admin } = testBus;
    const write = (from: number, to: number) =>
      driver.producer().send(
        Array.from({ length: to - from }, (_, index) => {
          const name = String(from + index);
          return { topic, partition: 0, key: name, value: name };
        }),
      );
    const commit = async () => (await admin.groupOffsets(groupId))[0];
    let handled: string[] = [];
    testBus.handle = async ({ value }) => {
      if (value === '0') await new Promise(() => undefined);
      handled.push(String(value));
    };
    try {
      await testBus.createTopics();
      const application = await testBus.start(SETTINGS, { shutdown: { drainTimeoutMs: 200 } });
      await write(0, 6);
      await testBus.until('the commit', async () =>
        (await commit())?.metadata?.includes('eb2 0@0'),
      );
      await testBus.until('five records', () => handled.length === 5);
      await application.close();
      const metadata = (await commit())?.metadata ?? '';
      expect(metadata).toContain('eb2 0@0');
      handled = [];
      await write(6, 12);
      await admin.setGroupOffsets(groupId, [{ topic, partition: 0, offset: 3, metadata }]);
      await testBus.start(SETTINGS);
      await testBus.until('the commit of all', async () => (await commit())?.offset === 12);
      expect(handled.toSorted((one, other) => Number(one) - Number(other))).toEqual(
        Array.from({ length: 9 }, (_, index) => String(3 + index)),
      );
    } finally {
      await driver.close();
      await testBus.end();
    }
  }, 180_000);
});
