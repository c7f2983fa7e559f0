import { describeWithKafka } from '../../support/index.js';
import { OrdersTestBus } from '../support/orders-test-bus.js';

const PARTITIONS = 2;

describeWithKafka('A retry topic that is deleted and created again, on a real Kafka', (kafka) => {
  let testBus: OrdersTestBus;
  const handledInTier = (): number[] =>
    testBus.calls
      .filter(({ attempt }) => attempt.tier === 1)
      .map(({ value }) => Number(value))
      .toSorted((one, other) => one - other);

  beforeEach(async () => {
    testBus = new OrdersTestBus(kafka.brokers);
    testBus.handle = (_, { attempt }) => {
      if (attempt.tier === 0) throw new Error('the warehouse does not answer');
    };
    await testBus.createTopics({ tiers: 1, partitions: PARTITIONS });
  });
  afterEach(() => testBus.end());

  /** Fewer records than before each time: with the old offset, all of them would be skipped. */
  it.each(['classic', 'consumer'] as const)(
    'is read from its beginning each time (%s)',
    async (groupProtocol) => {
      const timeouts = { sessionTimeoutMs: undefined, heartbeatIntervalMs: undefined };
      const application = await testBus.start({
        groupProtocol,
        ...(groupProtocol === 'consumer' && timeouts),
        retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 100 }] },
      });
      const topic = testBus.retryTopic(1);
      const expected: number[] = [];
      for (const count of [12, 8, 4]) {
        const numbers = Array.from({ length: count }, (_, index) => expected.length + index);
        expected.push(...numbers);
        for (const number of numbers) await testBus.writeTo(number % PARTITIONS, String(number));
        await testBus.until('all to be handled', () => handledInTier().length >= expected.length);
        expect(handledInTier()).toEqual(expected);
        await testBus.until(
          'them to be committed',
          async () => (await testBus.committed(`${testBus.groupId}.retry-1`)) === count,
        );
        await testBus.admin.deleteTopics([topic]);
        await testBus.admin.createTopics([{ name: topic, partitions: PARTITIONS }]);
      }
      await testBus.until(
        'the application to be well',
        () => testBus.health(application).status === 'UP',
      );
    },
  );
});
