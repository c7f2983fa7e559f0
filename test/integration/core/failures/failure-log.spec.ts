import { EventBusConnector, EventBusEvents, type EventBusEvent } from '@nest-event-bus/core';
import { describeWithKafka } from '../../support/index.js';
import { OrdersTestBus, tiersOf } from '../support/orders-test-bus.js';

describeWithKafka('A failed record on a real Kafka', (kafka) => {
  let testBus: OrdersTestBus;
  const events: EventBusEvent[] = [];

  beforeEach(() => {
    testBus = new OrdersTestBus(kafka.brokers);
    events.length = 0;
  });
  afterEach(() => testBus.end());

  const failureLines = (): readonly string[] =>
    testBus.logLines
      .filter((line) => line.startsWith('Record '))
      .map((line) => line.split(' {', 1)[0]!);

  const named = (name: string) => events.filter((event) => event.name === name);

  it('is in the log and in the events from its first call to its dead letter', async () => {
    await testBus.createTopics({ tiers: 1 });
    const tier0 = { maxAttempts: 2, initialBackoffMs: 100, jitter: 'none' } as const;
    const tiers = tiersOf(500).map((tier) => ({ ...tier, maxAttempts: 1 }));
    const application = await testBus.start({ retry: { tier0, tiers } });
    application.get(EventBusEvents).all$.subscribe((event) => events.push(event));
    await testBus.write('1');
    await testBus.until('a dead letter', () => named('record.dead-lettered').length === 1);
    const failed = `of binding 'orders' failed: Error: the warehouse does not answer.`;
    const [main, retry] = [`${testBus.topic}-0@0`, `${testBus.retryTopic(1)}-0@0`];
    expect(failureLines()).toEqual([
      `Record ${main} ${failed} Its handler is called again in 100 ms: call 2 of 2.`,
      expect.stringContaining(`Record ${main} ${failed} It goes to ${testBus.retryTopic(1)}, due `),
      `Record ${retry} ${failed} Its handler is called again in 100 ms: call 2 of 2.`,
      `Record ${retry} ${failed} It goes to ${testBus.deadLetterTopic}: RETRIES_EXHAUSTED, exhausted.`,
    ]);
    expect(named('record.failed')).toHaveLength(4);
    expect(named('record.retried')).toMatchObject([{ topic: testBus.retryTopic(1), tier: 1 }]);
    await testBus.until('the commits', async () => (await testBus.committed()) === 1);
    await application.get(EventBusConnector).stop('orders');
    await testBus.until('the end of both sessions', () => named('partitions.revoked').length === 2);
    expect(named('partitions.revoked')).toMatchObject([{ isLost: false }, { isLost: false }]);
  });

  it('is counted in an outage, and every record behind it is dead-lettered all the same', async () => {
    await testBus.createTopics();
    const retry = { tier0: { maxAttempts: 1 }, tiers: [] };
    const application = await testBus.start({ retry, maxPollRecords: 500 });
    await testBus.write(...Array.from({ length: 300 }, (_, index) => String(index)));
    await testBus.until('all dead letters', async () => (await testBus.letters()).length === 300);
    expect(failureLines()).toHaveLength(5);
    await application.close();
    expect(testBus.logLines).toContainEqual(
      expect.stringContaining(
        "… 295 more failures of binding 'orders' in the last minute, of them 295 given up: Error: the warehouse does not answer",
      ),
    );
  });
});
