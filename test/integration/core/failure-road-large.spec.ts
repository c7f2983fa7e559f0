import type { Compression } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { describeWithKafka } from '../support/index.js';
import { noise } from './noise.js';
import { OrdersStage, tiersOf } from './orders-stage.js';

describeWithKafka('a large record that fails, on a real Kafka', ({ brokers }) => {
  it.each<[string, number, Buffer, Compression]>([
    ['larger than a producer sends by default', 8_000_000, noise(5_000_000), 'none'],
    ['that its topics take only compressed', 4_000, Buffer.alloc(200_000, 'x'), 'gzip'],
  ])(
    '%s, goes its whole road',
    async (_, maxMessageBytes, value, compression) => {
      const stage = new OrdersStage(brokers);
      const driver = kafkajs({ brokers });
      try {
        const config = { 'max.message.bytes': String(maxMessageBytes) };
        await stage.createTopics({ tiers: 1, config });
        const retry = { tier0: { maxAttempts: 1 }, tiers: tiersOf(200) };
        const application = await stage.start({ retry, deserializer: 'raw' });
        const producer = driver.producer({ maxRequestBytes: 16 * 1024 * 1024, compression });
        await producer.send([{ topic: stage.topic, partition: 0, value }]);
        const letters = await stage.until('the dead letter', async () => {
          const found = await stage.letters();
          return found.length > 0 && found;
        });
        expect(letters).toMatchObject([
          { totalAttempts: 4, lastExceptionMessage: 'the warehouse does not answer' },
        ]);
        expect(letters[0]?.value?.equals(value)).toBe(true);
        const hops = await stage.records(stage.retryTopic(1));
        expect(hops.map((hop) => hop.value?.equals(value))).toEqual([true, true, true]);
        await stage.until('its commit', async () => (await stage.committed()) === 1);
        expect(stage.health(application).status).toBe('UP');
      } finally {
        await driver.close();
        await stage.end();
      }
    },
    60_000,
  );
});
