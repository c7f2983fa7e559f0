import type { Compression } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { describeWithKafka } from '../../support/index.js';
import { incompressibleBytes } from '../support/incompressible-bytes.js';
import { OrdersTestBus, tiersOf } from '../support/orders-test-bus.js';

describeWithKafka('A large failing record on a real Kafka', ({ brokers }) => {
  it.each<[string, number, Buffer, Compression]>([
    [
      'it is larger than a producer sends by default',
      8_000_000,
      incompressibleBytes(5_000_000),
      'none',
    ],
    ['its topics accept it only compressed', 4_000, Buffer.alloc(200_000, 'x'), 'gzip'],
  ])(
    'is retried and dead-lettered although %s',
    async (_, maxMessageBytes, value, compression) => {
      const testBus = new OrdersTestBus(brokers);
      const driver = kafkajs({ brokers });
      try {
        const config = { 'max.message.bytes': String(maxMessageBytes) };
        await testBus.createTopics({ tiers: 1, config });
        const retry = { tier0: { maxAttempts: 1 }, tiers: tiersOf(200) };
        const application = await testBus.start({ retry, deserializer: 'raw' });
        const producer = driver.producer({ maxRequestBytes: 16 * 1024 * 1024, compression });
        await producer.send([{ topic: testBus.topic, partition: 0, value }]);
        const letters = await testBus.until('the dead letter', async () => {
          const found = await testBus.letters();
          return found.length > 0 && found;
        });
        expect(letters).toMatchObject([
          { totalAttempts: 4, lastExceptionMessage: 'the warehouse does not answer' },
        ]);
        expect(letters[0]?.value?.equals(value)).toBe(true);
        const hops = await testBus.records(testBus.retryTopic(1));
        expect(hops.map((hop) => hop.value?.equals(value))).toEqual([true, true, true]);
        await testBus.until('its commit', async () => (await testBus.committed()) === 1);
        expect(testBus.health(application).status).toBe('UP');
      } finally {
        await driver.close();
        await testBus.end();
      }
    },
    60_000,
  );
});
