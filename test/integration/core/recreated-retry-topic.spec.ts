import { describeWithKafka } from '../support/index.js';
import { OrdersStage } from './orders-stage.js';

const PARTITIONS = 2;

describeWithKafka('a retry topic that is deleted and created again, on a real Kafka', (kafka) => {
  let stage: OrdersStage;
  const handledInTier = (): number[] =>
    stage.calls
      .filter(({ attempt }) => attempt.tier === 1)
      .map(({ value }) => Number(value))
      .toSorted((one, other) => one - other);

  beforeEach(async () => {
    stage = new OrdersStage(kafka.brokers);
    stage.handle = (_, { attempt }) => {
      if (attempt.tier === 0) throw new Error('the warehouse does not answer');
    };
    await stage.createTopics({ tiers: 1, partitions: PARTITIONS });
  });
  afterEach(() => stage.end());

  /** Fewer than before each time: reading on at the old offset would pass all of them. */
  it.each(['classic', 'consumer'] as const)(
    'is read from its beginning, again and again (%s)',
    async (groupProtocol) => {
      const timeouts = { sessionTimeoutMs: undefined, heartbeatIntervalMs: undefined };
      const application = await stage.start({
        groupProtocol,
        ...(groupProtocol === 'consumer' && timeouts),
        retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 100 }] },
      });
      const topic = stage.retryTopic(1);
      const expected: number[] = [];
      for (const count of [12, 8, 4]) {
        const numbers = Array.from({ length: count }, (_, index) => expected.length + index);
        expected.push(...numbers);
        for (const number of numbers) await stage.writeTo(number % PARTITIONS, String(number));
        await stage.until('all to be handled', () => handledInTier().length >= expected.length);
        expect(handledInTier()).toEqual(expected);
        await stage.until(
          'them to be committed',
          async () => (await stage.committed(`${stage.groupId}.retry-1`)) === count,
        );
        await stage.admin.deleteTopics([topic]);
        await stage.admin.createTopics([{ name: topic, partitions: PARTITIONS }]);
      }
      await stage.until(
        'the application to be well',
        () => stage.health(application).status === 'UP',
      );
    },
  );
});
