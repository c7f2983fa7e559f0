import type { RecordHeader } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import fc from 'fast-check';
import { hostileHeaders } from '../../../../libs/core/src/failures/headers/hostile-headers.spec-support.js';
import { describeWithKafka } from '../../support/index.js';
import { OrdersTestBus, tiersOf, type Properties } from '../support/orders-test-bus.js';

type Profiles = NonNullable<NonNullable<Properties['dlt']>['headerProfile']>;

const PROFILES: readonly (readonly [Profiles])[] = [
  [['eventbus']],
  [['spring']],
  [['plain']],
  [['eventbus', 'spring', 'plain']],
];

const isOfProducer = ({ key }: RecordHeader): boolean => !key.startsWith('x-eventbus-');

const textOf = (headers: readonly RecordHeader[]): string =>
  JSON.stringify(
    headers.map(({ key, keyBytes, value }) => [
      key,
      keyBytes?.toString('hex'),
      value?.toString('hex'),
    ]),
  );

describeWithKafka('The original headers of records on a real Kafka', ({ brokers }) => {
  it.each(PROFILES)(
    'are seen by the handler in each tier and restored from dead letters, with the profiles %p',
    async (headerProfile) => {
      const testBus = new OrdersTestBus(brokers);
      const driver = kafkajs({ brokers });
      const all = fc.sample(hostileHeaders, { numRuns: 40, seed: 7 });
      const wrong: unknown[] = [];
      testBus.handle = ({ value }, { raw, attempt }) => {
        const producers = all[Number(value)]!.filter(isOfProducer);
        const names = new Set(producers.map(({ key }) => key));
        const seen = raw.headers.filter(({ key }) => names.has(key));
        if (textOf(seen) !== textOf(producers))
          wrong.push({ tier: attempt.tier, seen: textOf(seen), producers: textOf(producers) });
        throw new Error('the warehouse does not answer');
      };
      try {
        await testBus.createTopics({ tiers: 2 });
        const retry = { tier0: { maxAttempts: 1 }, tiers: tiersOf(50, 100) };
        await testBus.start({ retry, dlt: { headerProfile }, deserializer: 'text' });
        const { topic } = testBus;
        const records = all.map((headers, index) => ({ topic, value: String(index), headers }));
        await driver.producer().send(records);
        await testBus.until(
          'the dead letters',
          async () => (await testBus.letters()).length === all.length,
        );
        expect(wrong).toEqual([]);
        for (const { value, headers } of await testBus.letters())
          expect(headers).toEqual(all[Number(value!.toString())]);
      } finally {
        await driver.close();
        await testBus.end();
      }
    },
    60_000,
  );
});
