import { headerText } from '../../../libs/core/src/model/records/header-text.js';
import { describeWithKafka } from '../support/index.js';
import { OrdersStage, tiersOf, type Call } from './orders-stage.js';

const DELAYS = [300, 600, 900];
/** No clock is asked twice in one moment. */
const TICK_MS = 1;

const shown = ({ attempt: { tier, delivery, call, total } }: Call): string =>
  `${tier}.${delivery}.${call} #${total}`;

describeWithKafka('a record that always fails, on a real Kafka', (kafka) => {
  let stage: OrdersStage;
  const header = ({ headers }: { headers: Parameters<typeof headerText>[0] }, name: string) =>
    headerText(headers, `x-eventbus-${name}`);

  beforeEach(() => {
    stage = new OrdersStage(kafka.brokers);
  });
  afterEach(() => stage.end());

  it('is handled thirty times, three in each of ten deliveries, never early, and then dead-lettered with its story', async () => {
    await stage.createTopics({ tiers: 3 });
    await stage.start({ retry: { tiers: tiersOf(...DELAYS) } });
    await stage.write('"poison"');
    const letters = await stage.until('the dead letter', async () => {
      const found = await stage.letters();
      return found.length > 0 && found;
    });

    const expected: string[] = [];
    for (const [tier, deliveries] of [1, 3, 3, 3].entries())
      for (let delivery = 1; delivery <= deliveries; delivery++)
        for (let call = 1; call <= 3; call++)
          expected.push(`${tier}.${delivery}.${call} #${expected.length + 1}`);
    expect(stage.calls.map(shown)).toEqual(expected);
    expect(expected).toHaveLength(30);
    for (const [index, { at, attempt }] of stage.calls.entries()) {
      if (attempt.tier === 0 || attempt.call > 1) continue;
      const before = stage.calls[index - 1]!;
      expect(at - before.at).toBeGreaterThanOrEqual(DELAYS[attempt.tier - 1]! - TICK_MS);
    }

    for (const tier of [1, 2, 3]) {
      const hops = await stage.records(stage.retryTopic(tier));
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
      await stage.until(
        `tier ${tier} to be committed`,
        async () => (await stage.committed(`${stage.groupId}.retry-${tier}`)) === 3,
      );
    }
    await stage.until(
      'the main topic to be committed',
      async () => (await stage.committed()) === 1,
    );

    expect(letters).toHaveLength(1);
    expect(letters[0]).toMatchObject({
      originalTopic: stage.topic,
      originalPartition: 0,
      originalOffset: 0n,
      value: Buffer.from('"poison"'),
      dltReason: 'RETRIES_EXHAUSTED',
      dltCause: 'exhausted',
      totalAttempts: 30,
      lastExceptionClass: 'Error',
      lastExceptionMessage: 'the warehouse does not answer',
      binding: 'orders',
      groupId: stage.groupId,
      tierHistory: [3, 9, 9, 9].map((attempts, tier) => ({
        tier,
        exceptionClass: 'Error',
        attempts,
      })),
    });
    const [letter] = letters;
    const told = letter!.tierHistory.map(({ exhaustedAt }) => exhaustedAt);
    expect(told).toEqual(told.toSorted((one, other) => one - other));
    expect(letter!.firstFailureTimestamp).toBeLessThanOrEqual(stage.calls[1]!.at);
    expect(letter!.firstFailureTimestamp).toBeGreaterThanOrEqual(stage.calls[0]!.at);
  }, 30_000);

  it('of two groups is handled by each, and nobody handles the retries of the other', async () => {
    const other = `${stage.groupId}-billing`;
    const retry = { tier0: { maxAttempts: 2, initialBackoffMs: 10 }, tiers: tiersOf(200, 300) };
    await stage.createTopics({ tiers: 2 });
    await stage.start({ retry });
    await stage.start({ retry, groupId: other });
    await stage.write('1', '2', '3');
    await stage.until('six dead letters', async () => (await stage.letters()).length === 6);

    const letters = await stage.letters();
    for (const groupId of [stage.groupId, other]) {
      const own = letters.filter((letter) => letter.groupId === groupId);
      expect(own.map(({ value }) => String(value)).toSorted()).toEqual(['1', '2', '3']);
      for (const value of [1, 2, 3]) {
        const calls = stage.calls.filter(
          (call) => call.groupId === groupId && call.value === value,
        );
        // One delivery in the main topic and three in each of two tiers, of two calls each.
        expect(calls.map(({ attempt }) => attempt.total)).toEqual(
          Array.from({ length: 14 }, (_, index) => index + 1),
        );
      }
      // Each group has passed over what the other one wrote there.
      for (const tier of [1, 2])
        await stage.until(
          `${groupId} to be behind all of tier ${tier}`,
          async () => (await stage.committed(`${groupId}.retry-${tier}`)) === 2 * 3 * 3,
        );
    }
    expect(letters.every(({ totalAttempts }) => totalAttempts === 14)).toBe(true);
  }, 30_000);
});
