import { DltReplayService, type RedriveReport } from '@nest-event-bus/core';
import { describeWithKafka } from '../../support/index.js';
import { OrdersTestBus, type Properties } from '../support/orders-test-bus.js';

const AT_ONCE: Properties = {
  provisioning: 'create',
  retry: { tier0: { maxAttempts: 1 }, tiers: [] },
};
const LONG = 120_000;

describeWithKafka('A careful redrive on a real broker', ({ brokers }) => {
  let bus: OrdersTestBus;

  const values = (count: number): readonly string[] =>
    Array.from({ length: count }, (_, index) => String(index + 1));

  /** Starts an application whose handler has failed for all these orders. */
  async function withLetters(count: number): Promise<DltReplayService> {
    bus = new OrdersTestBus(brokers);
    await bus.createTopics({ partitions: 2 });
    const application = await bus.start(AT_ONCE);
    for (const value of values(count)) await bus.writeTo(Number(value) % 2, value);
    await bus.until('the dead letters', async () => (await bus.letters()).length === count, LONG);
    return application.get(DltReplayService);
  }

  async function state(replay: DltReplayService, id: string): Promise<RedriveReport['state']> {
    return (await replay.status('orders', id)).state;
  }

  const replays = async (): Promise<number> =>
    (await bus.records(bus.topic)).filter(({ headers }) =>
      headers.some(({ key }) => key === 'x-eventbus-replay-id'),
    ).length;

  afterEach(() => bus.end());

  it('stops after a canary that failed, and replays the rest after one that is good', async () => {
    const replay = await withLetters(20);
    const first = await replay.plan('orders', { all: true });
    const rejected = await replay.run('orders', first.id, { canary: 3 });
    expect(rejected).toMatchObject({
      state: 'rejected',
      replayed: 3,
      remaining: 17,
      canary: { verdict: 'bad', reason: 'failed-again' },
    });
    expect(await replays()).toBe(3);
    bus.handle = () => undefined;
    await bus.until('the returned letters', async () => (await bus.letters()).length === 23, LONG);
    const second = await replay.plan('orders', { all: true });
    const canary = { letters: 4, continue: 'on-approval' } as const;
    const run = replay.run('orders', second.id, { canary });
    await bus.until(
      'the verdict',
      async () => (await state(replay, second.id)) === 'awaiting-approval',
      LONG,
    );
    expect(await replays()).toBe(7);
    await replay.approve('orders', second.id, { by: 'ann' });
    expect(await run).toMatchObject({
      state: 'completed',
      replayed: 20,
      canary: { good: 4, bad: 0, approvedBy: 'ann' },
    });
    await bus.until(
      'the outcomes of all letters',
      async () => (await replay.status('orders', second.id)).outcomes?.handled === 20,
      LONG,
    );
  }, 300_000);

  it('pauses itself while the circuit of its target is open', async () => {
    await withLetters(40);
    await bus.stop();
    let isDown = false;
    bus.handle = () => {
      if (isDown) throw Object.assign(new Error('connect failed'), { code: 'ECONNREFUSED' });
    };
    const application = await bus.start({
      ...AT_ONCE,
      circuitBreaker: {
        slidingWindowSize: 4,
        minimumNumberOfCalls: 2,
        waitDurationInOpenStateMs: 2_000,
        permittedNumberOfCallsInHalfOpenState: 1,
      },
    });
    const replay = application.get(DltReplayService);
    const { id } = await replay.plan('orders', { all: true });
    const run = replay.run('orders', id, { rate: 4 });
    await bus.until('the first replays', async () => (await replays()) >= 4, LONG);
    isDown = true;
    await bus.until('the brake', async () => (await state(replay, id)) === 'braked', LONG);
    const { brakes, remaining } = await replay.status('orders', id);
    expect(brakes).toMatchObject([{ reason: 'circuit-open' }]);
    expect(remaining).toBeGreaterThan(0);
    isDown = false;
    expect(await run).toMatchObject({ state: 'completed', replayed: 40, remaining: 0 });
    await bus.until(
      'the outcomes of all letters',
      async () => (await replay.status('orders', id)).outcomes?.handled === 40,
      LONG,
    );
  }, 300_000);

  it('pauses itself when letters of the same group of cause come back', async () => {
    const replay = await withLetters(40);
    const { id } = await replay.plan('orders', { all: true });
    const run = replay.run('orders', id, { rate: 5, brakes: { returned: 5, quiet: '3s' } });
    await bus.until('the brake', async () => (await state(replay, id)) === 'braked', LONG);
    const { brakes, remaining } = await replay.status('orders', id);
    expect(brakes).toMatchObject([{ reason: 'letters-returned', limit: 5 }]);
    expect(remaining).toBeGreaterThan(0);
    bus.handle = () => undefined;
    expect(await run).toMatchObject({ state: 'completed', replayed: 40 });
  }, 300_000);
});
