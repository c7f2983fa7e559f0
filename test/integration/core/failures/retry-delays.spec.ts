import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { describeWithKafka } from '../../support/index.js';
import { OrdersTestBus } from '../support/orders-test-bus.js';

const PARTITIONS = 4;
/** The delay is longer than two session timeouts of QUICK. */
const DELAY_MS = 4_000;

describeWithKafka('A record that waits in a retry topic on a real Kafka', (kafka) => {
  let testBus: OrdersTestBus;
  const tierGroup = (): string => `${testBus.groupId}.retry-1`;
  const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: DELAY_MS }] };
  const numbers = Array.from({ length: 20 }, (_, index) => index);

  /** Returns the values of the calls in the tier, and checks that no call was too early. */
  const handledInTier = (): number[] => {
    const calls = testBus.calls.filter(({ attempt }) => attempt.tier === 1);
    for (const { at, writtenAt } of calls) expect(at - writtenAt).toBeGreaterThanOrEqual(DELAY_MS);
    return calls.map(({ value }) => Number(value)).toSorted((one, other) => one - other);
  };

  beforeEach(async () => {
    testBus = new OrdersTestBus(kafka.brokers);
    testBus.handle = (_, { attempt }) => {
      if (attempt.tier === 0) throw new Error('the warehouse does not answer');
    };
    await testBus.createTopics({ tiers: 1, partitions: PARTITIONS });
  });
  afterEach(() => testBus.end());

  /** Writes values without keys, so that they are spread over all partitions. */
  const fail = async (values: readonly number[]): Promise<void> => {
    await Promise.all(values.map((value) => testBus.writeTo(value % PARTITIONS, String(value))));
    await testBus.until('all to be in the tier', async () => {
      const hops = await testBus.records(testBus.retryTopic(1));
      return values.every((value) => hops.some((hop) => String(hop.value) === String(value)));
    });
  };

  it('is handled after its delay even if members join and leave, and no partition stays paused', async () => {
    const first = await testBus.start({ retry });
    await fail(numbers);
    const second = await testBus.start({ retry });
    await testBus.until(
      'the tier to be shared',
      async () => (await testBus.members(tierGroup())).length === 2,
    );
    await second.close();
    expect(handledInTier()).toEqual([]);
    await testBus.until('all to be handled', () => handledInTier().length === numbers.length);
    expect(handledInTier()).toEqual(numbers);

    const pausedBy = () =>
      testBus
        .containers(first)
        .flatMap(({ status }) => [...status.pauses, ...status.partitionPauses]);
    await testBus.until('nothing to be paused', () => pausedBy().length === 0);
    const more = numbers.map((number) => number + numbers.length);
    await fail(more);
    await testBus.until('all the others', () => handledInTier().length === 2 * numbers.length);
    expect(handledInTier()).toEqual([...numbers, ...more]);
    await testBus.until(
      'all to be committed',
      async () => (await testBus.committed(tierGroup())) === 2 * numbers.length,
    );
  }, 180_000);

  it('does not cause a rebalance of the retry group, which holds it during the delay', async () => {
    const application = await testBus.start({ retry });
    const members = await testBus.members(tierGroup());
    const [, tier] = testBus.containers(application);
    const joinedSince = tier!.status.since;
    await fail([1]);
    const seen: string[] = [];
    while (handledInTier().length === 0) {
      const { state } = await testBus.admin.describeGroup(tierGroup());
      seen.push(`${state} ${tier!.status.state}`);
      await sleep(realRuntime, 200);
    }
    expect(new Set(seen)).toEqual(new Set(['Stable joined']));
    expect(seen.length).toBeGreaterThan(5);
    expect(members).toHaveLength(1);
    expect(await testBus.members(tierGroup())).toEqual(members);
    expect(tier!.status.since).toBe(joinedSince);
    await testBus.until('its commit', async () => (await testBus.committed(tierGroup())) === 1);
  }, 180_000);
});
