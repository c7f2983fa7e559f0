import { DltReplayService, memoryIdempotencyStore, readDeadLetter } from '@nest-event-bus/core';
import { describeWithKafka } from '../../support/index.js';
import { OrdersTestBus, tiersOf, type Properties } from '../support/orders-test-bus.js';

const AT_ONCE: Properties = {
  provisioning: 'create',
  retry: { tier0: { maxAttempts: 1 }, tiers: [] },
};
const LONG = 120_000;

describeWithKafka('A letter that is replayed on a real broker', ({ brokers }) => {
  let bus: OrdersTestBus;

  beforeEach(() => {
    bus = new OrdersTestBus(brokers);
  });

  afterEach(() => bus.end());

  const letters = (count: number) =>
    bus.until(`${count} letters`, async () => (await bus.letters()).length === count, LONG);

  it('comes back through a tier at most maxReplays times, also after restarts', async () => {
    const properties: Properties = {
      ...AT_ONCE,
      retry: { tier0: { maxAttempts: 1 }, tiers: tiersOf(100) },
      dlt: { replay: { maxReplays: 3 } },
    };
    await bus.createTopics({ tiers: 1 });
    let application = await bus.start(properties);
    await bus.write('1');
    await letters(1);
    for (let cycle = 1; cycle <= 3; cycle++) {
      const report = await application.get(DltReplayService).replay('orders', { all: true });
      expect([cycle, report.replayed]).toEqual([cycle, 1]);
      await letters(cycle + 1);
      await application.close();
      application = await bus.start(properties);
    }
    const replay = application.get(DltReplayService);
    expect(await replay.plan('orders', { all: true })).toMatchObject({
      selected: 0,
      skipped: { 'already-replayed': 3, 'max-replays': 1 },
    });
    expect((await bus.letters()).map(({ replayCount }) => replayCount)).toEqual([0, 1, 2, 3]);
  }, 300_000);

  it('has headers that do not grow over ten cycles', async () => {
    await bus.createTopics();
    const application = await bus.start({ ...AT_ONCE, dlt: { replay: { maxReplays: 100 } } });
    const replay = application.get(DltReplayService);
    await bus.write('1');
    await letters(1);
    for (let cycle = 1; cycle <= 10; cycle++) {
      await replay.replay('orders', { all: true });
      await letters(cycle + 1);
    }
    const written = await bus.records(bus.deadLetterTopic);
    const sizes = written.slice(1).map(({ sizeInBytes }) => sizeInBytes);
    // The counter and the offset in the replay id have one digit more in the end.
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(3);
    expect(written.map((letter) => readDeadLetter(letter).headers)).toEqual(written.map(() => []));
  }, 300_000);

  it.each<[string, () => Properties]>([
    ['by key', () => ({ processing: { by: 'key' } })],
    ['with idempotency', () => ({ idempotency: { store: memoryIdempotencyStore() } })],
    ['with transactions', () => ({ transactions: { enabled: true } })],
  ])(
    'is handled again, and its outcome is known, %s',
    async (_, properties) => {
      await bus.createTopics();
      const application = await bus.start({ ...AT_ONCE, ...properties() });
      const replay = application.get(DltReplayService);
      await bus.write('1', '2', '3');
      await letters(3);
      bus.handle = () => undefined;
      bus.calls.length = 0;
      const { planId } = await replay.replay('orders', { all: true, canary: 1 });
      await bus.until(
        'the outcomes',
        async () => (await replay.status('orders', planId)).outcomes?.handled === 3,
        LONG,
      );
      expect(bus.calls).toHaveLength(3);
      expect(new Set(bus.calls.map(({ value }) => value))).toEqual(new Set([1, 2, 3]));
    },
    300_000,
  );
});
