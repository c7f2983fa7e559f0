import type { TopicBindingProperties } from '../../src/config/properties/topic-binding-properties.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import {
  DependencyTestBus,
  registrationOf,
  SHORT_TIMEOUTS,
} from '../support/dependency-test-bus.spec-support.js';

let testBus: DependencyTestBus;

beforeEach(async () => {
  testBus = await DependencyTestBus.create();
});

afterEach(() => testBus.end());

describe('A failing handler', () => {
  it('is called three times with backoff before its record goes to the retry topic and the partition continues', async () => {
    await testBus.startHandler();
    await testBus.writeOrders(2);
    await testBus.runtime.advance(2_000);
    expect(testBus.calls.map(({ place }) => place)).toEqual([
      ...Array(3).fill('0/0'),
      ...Array(3).fill('0/1'),
    ]);
    const [first = 0, second = 0, third = 0] = testBus.gaps();
    expect(first).toBeGreaterThan(50);
    expect(first).toBeLessThanOrEqual(100);
    expect(second).toBeGreaterThan(100);
    expect(second).toBeLessThanOrEqual(200);
    expect(third).toBeLessThan(50);
    const threeCalls = [
      { call: 1, delivery: 1, tier: 0, total: 1 },
      { call: 2, delivery: 1, tier: 0, total: 2 },
      { call: 3, delivery: 1, tier: 0, total: 3 },
    ];
    expect(testBus.attempts()).toEqual([...threeCalls, ...threeCalls]);
    expect(testBus.handled).toEqual([]);
    expect(await testBus.values('orders.retry-1')).toEqual(['0', '1']);
    expect(await testBus.committed()).toBe(2);
  });

  it.each<[string, Partial<TopicBindingProperties>, string]>([
    [
      'with a non-retryable error',
      { retry: { nonRetryableExceptions: [TypeError] } },
      'orders.DLT',
    ],
    [
      'with an error outside retryableExceptions',
      { retry: { retryableExceptions: [{ name: 'DatabaseError' }] } },
      'orders.retry-1',
    ],
  ])('%s is called once per delivery', async (_kind, properties, next) => {
    testBus.failWith = () => new TypeError('no');
    await testBus.startHandler(properties);
    await testBus.writeOrders(1);
    await testBus.runtime.advance(5_000);
    expect(testBus.attempts()).toEqual([{ call: 1, delivery: 1, tier: 0, total: 1 }]);
    expect(await testBus.values(next)).toEqual(['0']);
    await testBus.runtime.advance(10_000);
    const again = { call: 1, delivery: 1, tier: 1, total: 2 };
    expect(testBus.attempts().slice(1)).toEqual(next === 'orders.DLT' ? [] : [again]);
  });

  it.each([
    ['a class registered in errorTypes', 1],
    ['another class', 3],
  ])(
    'that throws an error of nonRetryableExceptions is called by its class: %s, %i time(s)',
    async (which, times) => {
      class Declined extends Error {}
      class DeclinedForGood extends Declined {}
      testBus.failWith = () =>
        which === 'another class' ? new Error('no') : new DeclinedForGood('no');
      const retry = { nonRetryableExceptions: ['PaymentDeclined'] };
      const errorTypes = { PaymentDeclined: Declined };
      await testBus.startOrders([testBus.handler()], { ...SHORT_TIMEOUTS, retry }, { errorTypes });
      await testBus.writeOrders(1);
      await testBus.runtime.advance(450);
      expect(testBus.calls).toHaveLength(times);
    },
  );

  it("is called once per delivery with mode 'seek', with the backoff of tier 0 between deliveries", async () => {
    const tier0 = { initialBackoffMs: 10_000, multiplier: 3, maxBackoffMs: 60_000 };
    const application = await testBus.startHandler({ retry: { mode: 'seek', tier0 } });
    await testBus.writeOrders(1);
    await testBus.runtime.advance(5_000);
    const { partitionPauses } = registrationOf(application).mainContainer.status;
    expect(partitionPauses).toMatchObject([{ partition: 0, reasons: ['backoff'] }]);
    await testBus.runtime.advance(100_000);
    const [first = 0, second = 0] = testBus.gaps();
    expect(first).toBeGreaterThan(5_000);
    expect(first).toBeLessThanOrEqual(10_050);
    expect(second).toBeGreaterThan(15_000);
    expect(second).toBeLessThanOrEqual(30_050);
    expect(await testBus.committed()).toBe(1);
    expect(testBus.attempts().slice(0, 3)).toEqual([
      { call: 1, delivery: 1, tier: 0, total: 1 },
      { call: 1, delivery: 2, tier: 0, total: 2 },
      { call: 1, delivery: 3, tier: 0, total: 3 },
    ]);
  });

  it('causes no warning about retry or circuit breaker options without effect', async () => {
    await testBus.startHandler({
      retry: {
        mode: 'in-line',
        tier0: { maxAttempts: 3, initialBackoffMs: 1, multiplier: 1, maxBackoffMs: 1 },
        retryableExceptions: [Error],
        nonRetryableExceptions: [TypeError],
      },
      circuitBreaker: { enabled: true, slidingWindowSize: 20, automaticPauseOnOpen: true },
    });
    expect(testBus.log.warnings.filter((line) => line.includes('no effect'))).toEqual([]);
  });
});

/** The wait between two calls is long, so that a test can interrupt it. */
const LONG_WAIT = {
  maxPollRecords: 1,
  retry: { tier0: { initialBackoffMs: 60_000, maxBackoffMs: 60_000 } },
};

describe('A wait between two calls', () => {
  it('ends with a pause: after pause() has resolved, no call follows and the waiting attempt is not counted', async () => {
    const application = await testBus.startHandler(LONG_WAIT);
    const lifecycle = application.get(LifecycleManager);
    await testBus.writeOrders(1);
    await testBus.runtime.advance(1_000);
    const pausedAt = testBus.runtime.monotonic();
    await testBus.done(lifecycle.pause('orders'));
    expect(testBus.runtime.monotonic() - pausedAt).toBeLessThanOrEqual(100);
    const { mainContainer } = registrationOf(application);
    expect(mainContainer.status.runningHandlers).toBe(0);
    expect(mainContainer.counts).toMatchObject({ failed: 0, inFlight: 0 });
    await testBus.runtime.advance(200_000);
    expect(testBus.calls).toHaveLength(1);
    testBus.isDown = false;
    await testBus.done(lifecycle.resume('orders'));
    await testBus.runtime.advance(1_000);
    expect(testBus.handled).toEqual(['0/0']);
    expect(testBus.attempts().at(-1)).toEqual({ call: 1, delivery: 1, tier: 0, total: 2 });
  });

  it('ends with a revocation, so that the next owner does not have to wait', async () => {
    await testBus.startHandler(LONG_WAIT);
    await testBus.writeOrders(1, 0);
    await testBus.writeOrders(1, 1);
    await testBus.runtime.advance(1_000);
    expect(testBus.calls.map(({ place }) => place)).toEqual(['0/0', '1/0']);
    const joinedAt = testBus.runtime.monotonic();
    await testBus.startHandler(LONG_WAIT);
    await testBus.runtime.advance(3_000);
    const [again] = testBus.calls.slice(2);
    expect(again?.at).toBeLessThanOrEqual(joinedAt + 3_000);
    expect(again?.attempt).toMatchObject({ call: 1, delivery: 1 });
    testBus.isDown = false;
    await testBus.runtime.advance(120_000);
    expect(new Set(testBus.handled)).toEqual(new Set(['0/0', '1/0']));
  });

  it('ends with the shutdown of the application', async () => {
    const application = await testBus.startHandler(LONG_WAIT);
    await testBus.writeOrders(1);
    await testBus.runtime.advance(1_000);
    const closedAt = testBus.runtime.monotonic();
    await testBus.done(application.close());
    expect(testBus.runtime.monotonic() - closedAt).toBeLessThan(2_000);
    expect(testBus.calls).toHaveLength(1);
    expect(await testBus.committed()).toBe(0);
  });
});
