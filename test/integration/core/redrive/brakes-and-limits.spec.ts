import { realRuntime } from '@nest-event-bus/broker/runtime';
import { DltReplayService } from '@nest-event-bus/core';
import { describeWithKafka } from '../../support/index.js';
import { OrdersTestBus, type Properties } from '../support/orders-test-bus.js';

const AT_ONCE: Properties = {
  provisioning: 'create',
  retry: { tier0: { maxAttempts: 1 }, tiers: [] },
  circuitBreaker: { enabled: false },
};
const LONG = 120_000;

describeWithKafka('A limited redrive on a real broker', ({ brokers }) => {
  let bus: OrdersTestBus;

  afterEach(() => bus.end());

  /** Starts an application whose handler has failed for so many orders. */
  async function withLetters(count: number, properties: Properties): Promise<DltReplayService> {
    bus = new OrdersTestBus(brokers);
    await bus.createTopics({ partitions: 1 });
    const application = await bus.start(properties);
    await bus.write(...Array.from({ length: count }, (_, index) => String(index + 1)));
    await bus.until('the dead letters', async () => (await bus.letters()).length === count, LONG);
    return application.get(DltReplayService);
  }

  it('pauses itself when the group of its target is too far behind', async () => {
    const replay = await withLetters(60, AT_ONCE);
    let release: (() => void) | undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    bus.handle = () => released;
    const { id } = await replay.plan('orders', { all: true });
    const run = replay.run('orders', id, { rate: 10, brakes: { lag: 10 } });
    const isBraked = async () => (await replay.status('orders', id)).state === 'braked';
    await bus.until('the brake', isBraked, LONG);
    const { brakes, remaining } = await replay.status('orders', id);
    expect(brakes).toMatchObject([{ reason: 'lag', limit: 10 }]);
    expect(remaining).toBeGreaterThan(0);
    release?.();
    expect(await run).toMatchObject({ state: 'completed', replayed: 60 });
  }, 240_000);

  it('is never faster than its ramp', async () => {
    const replay = await withLetters(60, AT_ONCE);
    bus.handle = () => undefined;
    const { id } = await replay.plan('orders', { all: true });
    const beganAt = realRuntime.monotonic();
    const seen: (readonly [seconds: number, replayed: number])[] = [];
    const run = replay.run('orders', id, { ramp: { from: 5, to: 20, every: '2s' } });
    for await (const { replayed } of run)
      seen.push([(realRuntime.monotonic() - beganAt) / 1_000, replayed]);
    expect(await run).toMatchObject({ state: 'completed', replayed: 60 });
    // 5, 10 and 20 letters per second, and what one batch and one second of catching up may add.
    const allowed = (seconds: number): number =>
      5 * Math.min(seconds, 2) +
      10 * Math.min(Math.max(seconds - 2, 0), 2) +
      20 * Math.max(seconds - 4, 0);
    const tooFast = seen.filter(([seconds, replayed]) => replayed > allowed(seconds + 1) + 2);
    expect(tooFast).toEqual([]);
  }, 240_000);

  it('keeps to cooldown and largest number of replays over restarts', async () => {
    const cooldownMs = 2_000;
    const properties = { ...AT_ONCE, dlt: { replay: { cooldownMs, maxReplays: 2 } } };
    let replay = await withLetters(1, properties);
    for (const replays of [1, 2]) {
      await bus.until(
        `replay ${replays} after the cooldown`,
        async () => (await replay.replayDue('orders')).replayed === 1,
        LONG,
      );
      await bus.until(
        `the letter that came back ${replays} times`,
        async () => (await bus.letters()).length === replays + 1,
        LONG,
      );
      const times = (await bus.letters()).map(({ dltTimestamp }) => dltTimestamp);
      const [before, after] = times.toSorted((one, other) => one - other).slice(-2);
      expect(after! - before!).toBeGreaterThanOrEqual(cooldownMs);
      await bus.stop();
      replay = (await bus.start(properties)).get(DltReplayService);
    }
    const plan = await replay.plan('orders', { all: true });
    expect(plan).toMatchObject({ selected: 0, skipped: { 'max-replays': 1 } });
  }, 240_000);
});
