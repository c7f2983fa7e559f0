import { headerText } from '../../../../libs/core/src/model/records/header-text.js';
import { describeWithKafka } from '../../support/index.js';
import { OrdersTestBus, tiersOf, type Call } from '../support/orders-test-bus.js';

const DELAYS = [300, 600, 900];
/** Resolution of the clock: two readings of the same moment may differ by one tick. */
const TICK_MS = 1;

const shown = ({ attempt: { tier, delivery, call, total } }: Call): string =>
  `${tier}.${delivery}.${call} #${total}`;

describeWithKafka('A record that always fails, on a real Kafka', (kafka) => {
  let testBus: OrdersTestBus;
  const header = ({ headers }: { headers: Parameters<typeof headerText>[0] }, name: string) =>
    headerText(headers, `x-eventbus-${name}`);

  beforeEach(() => {
    testBus = new OrdersTestBus(kafka.brokers);
  });
  afterEach(() => testBus.end());

  it('is called three times in each of ten deliveries, never early, and then dead-lettered with its failure history', async () => {
    await testBus.createTopics({ tiers: 3 });
    await testBus.start({ retry: { tiers: tiersOf(...DELAYS) } });
    await testBus.write('"poison"');
    const letters = await testBus.until('the dead letter', async () => {
      const found = await testBus.letters();
      return found.length > 0 && found;
    });

    const expected: string[] = [];
    for (const [tier, deliveries] of [1, 3, 3, 3].entries())
      for (let delivery = 1; delivery <= deliveries; delivery++)
        for (let call = 1; call <= 3; call++)
          expected.push(`${tier}.${delivery}.${call} #${expected.length + 1}`);
    expect(testBus.calls.map(shown)).toEqual(expected);
    expect(expected).toHaveLength(30);
    for (const [index, { at, attempt }] of testBus.calls.entries()) {
      if (attempt.tier === 0 || attempt.call > 1) continue;
      const before = testBus.calls[index - 1]!;
      expect(at - before.at).toBeGreaterThanOrEqual(DELAYS[attempt.tier - 1]! - TICK_MS);
    }

    for (const tier of [1, 2, 3]) {
      const hops = await testBus.records(testBus.retryTopic(tier));
      const trail = hops.map((hop) =>
        ['retry-tier', 'retry-attempt', 'total-attempts'].map((name) => header(hop, name)),
      );
      const before = 3 + (tier - 1) * 9;
      expect(trail).toEqual(
        [1, 2, 3].map((delivery) => [
          String(tier),
          String(delivery),
          String(before + (delivery - 1) * 3),
        ]),
      );
      await testBus.until(
        `tier ${tier} to be committed`,
        async () => (await testBus.committed(`${testBus.groupId}.retry-${tier}`)) === 3,
      );
    }
    await testBus.until(
      'the main topic to be committed',
      async () => (await testBus.committed()) === 1,
    );

    expect(letters).toHaveLength(1);
    expect(letters[0]).toMatchObject({
      originalTopic: testBus.topic,
      originalPartition: 0,
      originalOffset: 0n,
      value: Buffer.from('"poison"'),
      dltReason: 'RETRIES_EXHAUSTED',
      dltCause: 'exhausted',
      totalAttempts: 30,
      lastExceptionClass: 'Error',
      lastExceptionMessage: 'the warehouse does not answer',
      binding: 'orders',
      groupId: testBus.groupId,
      tierHistory: [3, 9, 9, 9].map((attempts, tier) => ({
        tier,
        exceptionClass: 'Error',
        attempts,
      })),
    });
    const [letter] = letters;
    const exhaustedTimes = letter!.tierHistory.map(({ exhaustedAt }) => exhaustedAt);
    expect(exhaustedTimes).toEqual(exhaustedTimes.toSorted((one, other) => one - other));
    expect(letter!.firstFailureTimestamp).toBeLessThanOrEqual(testBus.calls[1]!.at);
    expect(letter!.firstFailureTimestamp).toBeGreaterThanOrEqual(testBus.calls[0]!.at);
  }, 180_000);

  it('is handled by both groups of a topic, each of which ignores the retries of the other group', async () => {
    const other = `${testBus.groupId}-billing`;
    const retry = { tier0: { maxAttempts: 2, initialBackoffMs: 10 }, tiers: tiersOf(200, 300) };
    await testBus.createTopics({ tiers: 2 });
    await testBus.start({ retry });
    await testBus.start({ retry, groupId: other });
    await testBus.write('1', '2', '3');
    await testBus.until('six dead letters', async () => (await testBus.letters()).length === 6);

    const letters = await testBus.letters();
    for (const groupId of [testBus.groupId, other]) {
      const own = letters.filter((letter) => letter.groupId === groupId);
      expect(own.map(({ value }) => String(value)).toSorted()).toEqual(['1', '2', '3']);
      for (const value of [1, 2, 3]) {
        const calls = testBus.calls.filter(
          (call) => call.groupId === groupId && call.value === value,
        );
        // There are 14 calls: one delivery in the main topic and three in each of two tiers, with
        // two calls each.
        expect(calls.map(({ attempt }) => attempt.total)).toEqual(
          Array.from({ length: 14 }, (_, index) => index + 1),
        );
      }
      // Each group has skipped the retry records of the other group.
      for (const tier of [1, 2])
        await testBus.until(
          `${groupId} to be behind all of tier ${tier}`,
          async () => (await testBus.committed(`${groupId}.retry-${tier}`)) === 2 * 3 * 3,
        );
    }
    expect(letters.every(({ totalAttempts }) => totalAttempts === 14)).toBe(true);
  }, 180_000);
});
