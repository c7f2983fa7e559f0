import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { describeWithKafka } from '../support/index.js';
import { OrdersStage } from './orders-stage.js';

const PARTITIONS = 4;
/** Longer than two sessions of QUICK. */
const DELAY_MS = 4_000;

describeWithKafka('a record that waits in a retry topic on a real Kafka', (kafka) => {
  let stage: OrdersStage;
  const tierGroup = (): string => `${stage.groupId}.retry-1`;
  const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: DELAY_MS }] };
  const numbers = Array.from({ length: 20 }, (_, index) => index);

  /** Calls in the tier, by record. Each is looked at for its time. */
  const handledInTier = (): number[] => {
    const calls = stage.calls.filter(({ attempt }) => attempt.tier === 1);
    for (const { at, writtenAt } of calls) expect(at - writtenAt).toBeGreaterThanOrEqual(DELAY_MS);
    return calls.map(({ value }) => Number(value)).toSorted((one, other) => one - other);
  };

  beforeEach(async () => {
    stage = new OrdersStage(kafka.brokers);
    stage.handle = (_, { attempt }) => {
      if (attempt.tier === 0) throw new Error('the warehouse does not answer');
    };
    await stage.createTopics({ tiers: 1, partitions: PARTITIONS });
  });
  afterEach(() => stage.end());

  /** By value: records of one key share a partition, and these are to be in all of them. */
  const fail = async (values: readonly number[]): Promise<void> => {
    await Promise.all(values.map((value) => stage.writeTo(value % PARTITIONS, String(value))));
    await stage.until('all to be in the tier', async () => {
      const hops = await stage.records(stage.retryTopic(1));
      return values.every((value) => hops.some((hop) => String(hop.value) === String(value)));
    });
  };

  it('is handled in its time, whoever joins and leaves meanwhile; nothing stays paused', async () => {
    const first = await stage.start({ retry });
    await fail(numbers);
    const second = await stage.start({ retry });
    await stage.until(
      'the tier to be shared',
      async () => (await stage.members(tierGroup())).length === 2,
    );
    await second.close();
    expect(handledInTier()).toEqual([]);
    await stage.until('all to be handled', () => handledInTier().length === numbers.length);
    expect(handledInTier()).toEqual(numbers);

    const pausedBy = () =>
      stage
        .containers(first)
        .flatMap(({ status }) => [...status.pauses, ...status.partitionPauses]);
    await stage.until('nothing to be paused', () => pausedBy().length === 0);
    const more = numbers.map((number) => number + numbers.length);
    await fail(more);
    await stage.until('all the others', () => handledInTier().length === 2 * numbers.length);
    expect(handledInTier()).toEqual([...numbers, ...more]);
    await stage.until(
      'all to be committed',
      async () => (await stage.committed(tierGroup())) === 2 * numbers.length,
    );
  }, 40_000);

  it('does not cost the session that waits with it its place in the group', async () => {
    const application = await stage.start({ retry });
    const members = await stage.members(tierGroup());
    const [, tier] = stage.containers(application);
    const joinedSince = tier!.status.since;
    await fail([1]);
    const seen: string[] = [];
    while (handledInTier().length === 0) {
      const { state } = await stage.admin.describeGroup(tierGroup());
      seen.push(`${state} ${tier!.status.state}`);
      await sleep(realRuntime, 200);
    }
    expect(new Set(seen)).toEqual(new Set(['Stable joined']));
    expect(seen.length).toBeGreaterThan(5);
    expect(members).toHaveLength(1);
    expect(await stage.members(tierGroup())).toEqual(members);
    expect(tier!.status.since).toBe(joinedSince);
    await stage.until('its commit', async () => (await stage.committed(tierGroup())) === 1);
  }, 30_000);
});
