import type { BrokerDriver, ConsumerSession } from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import { type INestApplicationContext } from '@nestjs/common';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { headerText } from '../../src/model/records/header-text.js';
import {
  DependencyTestBus,
  places,
  registrationOf,
  SHORT_TIMEOUTS,
} from '../support/dependency-test-bus.spec-support.js';

let testBus: DependencyTestBus;

beforeEach(async () => {
  testBus = await DependencyTestBus.create();
});

afterEach(() => testBus.end());

const CIRCUIT = {
  enabled: true,
  slidingWindowSize: 4,
  minimumNumberOfCalls: 4,
  permittedNumberOfCallsInHalfOpenState: 2,
  waitDurationInOpenStateMs: 30_000,
} as const;

/** The handler has one call per delivery, so that four failures are four deliveries. */
const GUARDED = { retry: { tier0: { maxAttempts: 1 } }, circuitBreaker: CIRCUIT };

async function openCircuit(application: INestApplicationContext): Promise<void> {
  const { circuitBreaker } = registrationOf(application);
  for (let tries = 0; tries < 600 && circuitBreaker.current?.state !== 'OPEN'; tries++)
    await testBus.runtime.advance(50);
  await testBus.runtime.advance(50);
}

describe('A binding with a circuit breaker', () => {
  // The handler fails with an error of a dependency, because only such errors open the circuit. The
  // records stay in their partition.
  beforeEach(() => {
    testBus.failWith = () => Object.assign(new Error('down'), { code: 'ECONNREFUSED' });
  });

  it('shares one circuit breaker among its main container and its tiers, and has none without the option', async () => {
    const guarded = registrationOf(
      await testBus.startHandler({ circuitBreaker: { enabled: true } }),
    );
    const { circuitBreaker, mainContainer, retryTierContainers } = guarded;
    expect(circuitBreaker.current).toBeDefined();
    expect(retryTierContainers).toHaveLength(3);
    for (const container of [mainContainer, ...retryTierContainers])
      expect(container.circuitBreaker.current).toBe(circuitBreaker.current);
    expect(registrationOf(await testBus.startHandler()).circuitBreaker.current).toBeUndefined();
  });

  it('opens its circuit for failures in a retry tier', async () => {
    const application = await testBus.startHandler({
      retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000, maxAttempts: 1 }] },
      circuitBreaker: CIRCUIT,
    });
    await testBus.write('orders.retry-1', '0', '1', '2', '3');
    await openCircuit(application);
    expect(testBus.attempts()).toMatchObject([{ tier: 1 }, { tier: 1 }, { tier: 1 }, { tier: 1 }]);
    expect(registrationOf(application).circuitBreaker.current?.state).toBe('OPEN');
  });

  it('is paused and calls no handler while its circuit is open', async () => {
    const application = await testBus.startHandler(GUARDED);
    await testBus.writeOrders(10);
    await openCircuit(application);
    expect(registrationOf(application)).toMatchObject({ state: 'PAUSED', pauses: ['circuit'] });
    expect(testBus.calls).toHaveLength(4);
    await testBus.runtime.advance(20_000);
    expect(testBus.calls).toHaveLength(4);
    expect(await testBus.committed()).toBe(0);
    expect(testBus.health(application).bindings).toMatchObject([
      { status: 'DEGRADED', reasons: ['paused: circuit'] },
    ]);
    expect(testBus.log.warnings.join()).toContain("The circuit of binding 'orders' opened");
  });

  it.each([
    { slowCallDurationMs: 100, state: 'PAUSED' },
    { slowCallDurationMs: 201, state: 'RUNNING' },
  ])(
    'has state $state after calls of 200 ms with slowCallDurationMs $slowCallDurationMs',
    async ({ slowCallDurationMs, state }) => {
      testBus.isDown = false;
      testBus.handlerMs = 200;
      const circuitBreaker = { ...CIRCUIT, slowCallDurationMs };
      const application = await testBus.startHandler({ ...GUARDED, circuitBreaker });
      await testBus.writeOrders(10);
      await testBus.runtime.advance(5_000);
      expect(registrationOf(application).state).toBe(state);
    },
  );

  it('stays in its group, without a rebalance, while it is paused for longer than the session timeout', async () => {
    const sessions: ConsumerSession[] = [];
    const driver = recordSessions(memory({ broker: testBus.broker, clientId: 'bus' }), sessions);
    const bindings = {
      orders: {
        topic: 'orders',
        groupId: 'shop',
        ...SHORT_TIMEOUTS,
        ...GUARDED,
        retry: { tiers: [], tier0: { maxAttempts: 1 } },
      },
    };
    const imports = [testBus.module({ driver, bindings })];
    const application = await testBus.start({ imports, providers: [testBus.handler()] });
    await testBus.writeOrders(10);
    await openCircuit(application);
    const before = [
      (await testBus.members()).map(({ memberId }) => memberId),
      sessions.map(({ generation }) => generation),
    ];
    await testBus.runtime.advance(SHORT_TIMEOUTS.sessionTimeoutMs * 4);
    expect(registrationOf(application).pauses).toEqual(['circuit']);
    expect([
      (await testBus.members()).map(({ memberId }) => memberId),
      sessions.map(({ generation }) => generation),
    ]).toEqual(before);
    expect(sessions).toHaveLength(1);
  });

  it('resumes without new records, because a timer half-opens the circuit', async () => {
    const application = await testBus.startHandler(GUARDED);
    await testBus.writeOrders(10);
    await openCircuit(application);
    testBus.isDown = false;
    const openedAt = registrationOf(application).circuitBreaker.current!.since;
    await testBus.runtime.advance(31_000);
    expect(testBus.calls[4]!.at).toBeGreaterThanOrEqual(openedAt - 1_767_225_600_000 + 30_000);
    expect(registrationOf(application)).toMatchObject({ state: 'RUNNING', pauses: [] });
    expect(registrationOf(application).circuitBreaker.current?.state).toBe('CLOSED');
    expect(testBus.handled).toEqual(places(10));
    expect(await testBus.committed()).toBe(10);
  });

  it('is paused again if the permitted trial calls fail', async () => {
    const application = await testBus.startHandler(GUARDED);
    await testBus.writeOrders(10, 0);
    await testBus.writeOrders(10, 1);
    await openCircuit(application);
    for (const round of [1, 2, 3]) {
      await testBus.runtime.advance(32_000);
      expect(registrationOf(application)).toMatchObject({ state: 'PAUSED', pauses: ['circuit'] });
      expect(testBus.calls).toHaveLength(4 + 2 * round);
    }
    testBus.isDown = false;
    await testBus.runtime.advance(40_000);
    expect(testBus.handled.toSorted()).toEqual([...places(10, 0), ...places(10, 1)].toSorted());
  });

  it.each([1, 2])(
    'resumes quickly after a long outage, because the backoff of its partitions did not grow (%i trial calls)',
    async (permittedNumberOfCallsInHalfOpenState) => {
      const circuitBreaker = {
        ...CIRCUIT,
        permittedNumberOfCallsInHalfOpenState,
        waitDurationInOpenStateMs: 2_000,
      };
      const retry = { ...GUARDED.retry, tiers: [] };
      const application = await testBus.startHandler({ retry, circuitBreaker, concurrency: 2 });
      testBus.handlerMs = 100;
      await testBus.writeOrders(5, 0);
      await testBus.writeOrders(5, 1);
      // After this time the backoff of each partition has reached its limit.
      await testBus.runtime.advance(120_000);
      await openCircuit(application);
      testBus.isDown = false;
      await testBus.runtime.advance(2_000 + 5 * testBus.handlerMs + 1_000);
      expect(testBus.handled.toSorted()).toEqual([...places(5, 0), ...places(5, 1)].toSorted());
    },
  );

  it('stays paused when its circuit half-opens if an operator has paused it', async () => {
    const application = await testBus.startHandler(GUARDED);
    const lifecycle = application.get(LifecycleManager);
    await testBus.writeOrders(10);
    await openCircuit(application);
    await testBus.done(lifecycle.pause('orders'));
    testBus.isDown = false;
    await testBus.runtime.advance(60_000);
    expect(registrationOf(application)).toMatchObject({ state: 'PAUSED', pauses: ['operator'] });
    expect(testBus.calls).toHaveLength(4);
    await testBus.done(lifecycle.resume('orders'));
    await testBus.runtime.advance(5_000);
    expect(testBus.handled).toEqual(places(10));
  });

  it('cannot be resumed by an operator while its circuit is open', async () => {
    const application = await testBus.startHandler(GUARDED);
    const lifecycle = application.get(LifecycleManager);
    await testBus.writeOrders(10);
    await openCircuit(application);
    expect(await testBus.done(lifecycle.resume('orders'))).toMatchObject({
      state: 'PAUSED',
      remainingPauses: ['circuit'],
    });
    await testBus.runtime.advance(5_000);
    expect(testBus.calls).toHaveLength(4);
  });

  it('counts the calls of all its sessions in one window', async () => {
    const application = await testBus.startHandler({ ...GUARDED, concurrency: 2 });
    await testBus.writeOrders(10, 0);
    await testBus.writeOrders(10, 1);
    await openCircuit(application);
    const partitions = testBus.calls.map(({ place }) => place[0]);
    expect(partitions.filter((each) => each === '0')).toHaveLength(2);
    expect(partitions.filter((each) => each === '1')).toHaveLength(2);
    const sessions = registrationOf(application).mainContainer.status.pauses;
    expect(sessions).toEqual(['circuit']);
    testBus.isDown = false;
    await testBus.runtime.advance(60_000);
    expect(testBus.handled.toSorted()).toEqual([...places(10, 0), ...places(10, 1)].toSorted());
    expect(await testBus.committed('shop', 0)).toBe(10);
    expect(await testBus.committed('shop', 1)).toBe(10);
  });

  it('counts no attempt for records that it hands back without a call of the handler', async () => {
    const application = await testBus.startHandler({ ...GUARDED, concurrency: 2 });
    await testBus.writeOrders(10, 0);
    await testBus.writeOrders(10, 1);
    await openCircuit(application);
    const { counts } = registrationOf(application).mainContainer;
    expect(counts.failed).toBe(4);
    testBus.isDown = false;
    await testBus.runtime.advance(60_000);
    const handled = testBus.calls.filter(({ place }) => place === '0/0');
    expect(handled.at(-1)?.attempt).toMatchObject({
      delivery: handled.length,
      total: handled.length,
    });
  });

  it('closes its circuit after an outage even if a record that failed earlier still cannot be written to its retry topic', async () => {
    const refused = { operation: 'produce', topic: 'orders.retry-1' } as const;
    const fault = testBus.broker.faults.refuse(refused, 'TOPIC_AUTHORIZATION_FAILED');
    const application = await testBus.startHandler({
      ...GUARDED,
      circuitBreaker: { ...CIRCUIT, failureRateThreshold: 60, minimumNumberOfCalls: 2 },
    });
    testBus.isDown = false;
    await testBus.writeOrders(2);
    testBus.isDown = true;
    await testBus.writeOrders(1);
    // Two of the four calls have failed, which is below the threshold. So the circuit stays closed.
    await testBus.runtime.advance(10_000);
    expect(registrationOf(application).circuitBreaker.current?.state).toBe('CLOSED');
    await testBus.writeOrders(1, 1);
    await openCircuit(application);
    testBus.isDown = false;
    fault.lift();
    await testBus.writeOrders(5);
    await testBus.runtime.advance(120_000);
    expect(registrationOf(application).circuitBreaker.current?.state).toBe('CLOSED');
    expect([await testBus.committed('shop', 0), await testBus.committed('shop', 1)]).toEqual([
      8, 1,
    ]);
  });

  it('is not paused by failures of bad messages', async () => {
    testBus.failWith = () => new TypeError('bad');
    const retry = { tier0: { maxAttempts: 1 }, nonRetryableExceptions: [TypeError] };
    const application = await testBus.startHandler({ ...GUARDED, retry });
    await testBus.writeOrders(10);
    await testBus.runtime.advance(120_000);
    expect(testBus.calls).toHaveLength(10);
    expect(await testBus.values('orders.DLT')).toHaveLength(10);
    expect(registrationOf(application)).toMatchObject({ state: 'RUNNING' });
  });

  it('keeps running without automaticPauseOnOpen, and moves records to a retry topic without a call of the handler', async () => {
    const circuitBreaker = { ...CIRCUIT, automaticPauseOnOpen: false };
    const application = await testBus.startHandler({ ...GUARDED, circuitBreaker });
    await testBus.writeOrders(10);
    await openCircuit(application);
    await testBus.runtime.advance(10_000);
    expect(testBus.calls).toHaveLength(4);
    const { state, mainContainer } = registrationOf(application);
    expect(state).toBe('RUNNING');
    expect(mainContainer.counts).toMatchObject({ failed: 4, retried: 10 });
    // The records go to tier 2: an outage lasts longer than the delay of the first tier.
    const retryRecords = await testBus.records('orders.retry-2');
    const exceptionAndAttempts = retryRecords.map(({ headers }) => [
      headerText(headers, 'x-eventbus-tier0-exception'),
      headerText(headers, 'x-eventbus-total-attempts'),
    ]);
    // The first record was called four times until the circuit opened; the others were never called.
    const attempts = ['4', ...places(9).map(() => '0')];
    expect(exceptionAndAttempts).toEqual(
      attempts.map((count) => ['CircuitBreakerOpenException', count]),
    );
    testBus.isDown = false;
    await testBus.runtime.advance(120_000);
    expect(testBus.handled).toHaveLength(10);
    expect(await testBus.values('orders.DLT')).toEqual([]);
  });

  it('starts with a closed circuit after stop and start', async () => {
    const application = await testBus.startHandler(GUARDED);
    const lifecycle = application.get(LifecycleManager);
    await testBus.writeOrders(10);
    await openCircuit(application);
    await testBus.done(lifecycle.stop('orders'));
    testBus.isDown = false;
    await testBus.done(lifecycle.start('orders'));
    await testBus.runtime.advance(5_000);
    expect(testBus.handled).toEqual(places(10));
    expect(registrationOf(application).circuitBreaker.current?.state).toBe('CLOSED');
  });

  it('has no timer after the application has closed with an open circuit', async () => {
    const application = await testBus.startHandler(GUARDED);
    const { circuitBreaker } = registrationOf(application);
    await testBus.writeOrders(10);
    await openCircuit(application);
    await testBus.done(application.close());
    expect(circuitBreaker.current?.state).toBe('CLOSED');
    await testBus.runtime.advance(10_000);
    expect(testBus.runtime.pendingTimers).toBe(0);
  });

  it('cancels a waiting retry when its circuit opens, without another call of the handler', async () => {
    const tier0 = { maxAttempts: 2, initialBackoffMs: 1_000, maxBackoffMs: 1_000 };
    const circuitBreaker = { ...CIRCUIT, slidingWindowSize: 1, minimumNumberOfCalls: 1 };
    const application = await testBus.startHandler({
      retry: { tier0 },
      circuitBreaker,
      maxPollRecords: 1,
    });
    await testBus.writeOrders(1, 0);
    await testBus.runtime.advance(400);
    await testBus.writeOrders(1, 1);
    await openCircuit(application);
    expect(testBus.calls.map(({ place }) => place)).toEqual(['0/0', '1/0', '0/0']);
    await testBus.runtime.advance(10_000);
    expect(testBus.calls).toHaveLength(3);
  });
});

function recordSessions(driver: BrokerDriver, sessions: ConsumerSession[]): BrokerDriver {
  return new Proxy(driver, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      if (key !== 'consumer') return value.bind(target) as unknown;
      return (...options: Parameters<BrokerDriver['consumer']>) => {
        const session = target.consumer(...options);
        sessions.push(session);
        return session;
      };
    },
  });
}
