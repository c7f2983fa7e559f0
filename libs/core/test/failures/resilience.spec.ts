import type { BrokerDriver, ConsumerSession } from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import { sleep } from '@nest-event-bus/broker/runtime';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import type { TopicBindingProperties } from '../../src/config/properties/topic-binding-properties.js';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { headerText } from '../../src/model/records/header-text.js';
import { World } from '../support/application.spec-support.js';

const TOPICS_OF_FAILURES = ['orders.retry-1', 'orders.retry-2', 'orders.retry-3', 'orders.DLT'];

let world: World;
let calls: { readonly at: number; readonly place: string; readonly attempt: object }[];
let done: string[];
let isDown: boolean;
let takesMs: number;
let failWith: () => Error;

@Injectable()
class Orders {
  @EventHandler('orders')
  async handle({ partition, offset }: EventRecord, { attempt }: EventContext): Promise<void> {
    const place = `${partition}/${offset}`;
    calls.push({ at: world.runtime.monotonic(), place, attempt });
    await sleep(world.runtime, takesMs);
    if (isDown) throw failWith();
    done.push(place);
  }
}

beforeEach(async () => {
  world = new World();
  calls = [];
  done = [];
  isDown = true;
  takesMs = 0;
  failWith = () => new Error('no stock');
  await world.topic('orders', 2);
  for (const topic of TOPICS_OF_FAILURES) await world.topic(topic, 2);
});

afterEach(() => world.end());

const QUICK = {
  sessionTimeoutMs: 6_000,
  heartbeatIntervalMs: 1_000,
  rebalance: { drainTimeoutMs: 2_000 },
};

const start = (properties: Partial<TopicBindingProperties> = {}) =>
  world.startOrders([Orders], { ...QUICK, ...properties });

const write = (count: number, partition = 0): Promise<void> =>
  world.write(
    'orders',
    ...Array.from({ length: count }, (_, id) => ({ partition, value: `${id}` })),
  );

const values = async (topic: string) =>
  (await world.records(topic)).map(({ value }) => value?.toString());

const gaps = (): number[] => calls.slice(1).map(({ at }, index) => at - calls[index]!.at);
const attempts = (): object[] => calls.map(({ attempt }) => attempt);
const registrationOf = (application: INestApplicationContext) =>
  application.get(ContainerRegistry).require('orders');

const places = (count: number, partition = 0): string[] =>
  Array.from({ length: count }, (_, offset) => `${partition}/${offset}`);

describe('a handler that fails', () => {
  it('is called three times with the waits of the backoff; then its record leaves, and its partition goes on', async () => {
    await start();
    await write(2);
    await world.runtime.advance(2_000);
    expect(calls.map(({ place }) => place)).toEqual([
      ...Array(3).fill('0/0'),
      ...Array(3).fill('0/1'),
    ]);
    const [first = 0, second = 0, third = 0] = gaps();
    expect(first).toBeGreaterThan(50);
    expect(first).toBeLessThanOrEqual(100);
    expect(second).toBeGreaterThan(100);
    expect(second).toBeLessThanOrEqual(200);
    expect(third).toBeLessThan(50);
    const three = [
      { call: 1, delivery: 1, tier: 0, total: 1 },
      { call: 2, delivery: 1, tier: 0, total: 2 },
      { call: 3, delivery: 1, tier: 0, total: 3 },
    ];
    expect(attempts()).toEqual([...three, ...three]);
    expect(done).toEqual([]);
    expect(await values('orders.retry-1')).toEqual(['0', '1']);
    expect(await world.committed()).toBe(2);
  });

  it.each<[string, Partial<TopicBindingProperties>, string]>([
    [
      'of a kind that is not retryable',
      { retry: { nonRetryableExceptions: [TypeError] } },
      'orders.DLT',
    ],
    [
      'outside the whitelist',
      { retry: { retryableExceptions: [{ name: 'DatabaseError' }] } },
      'orders.retry-1',
    ],
  ])('%s is called once for each delivery', async (_kind, properties, next) => {
    failWith = () => new TypeError('no');
    await start(properties);
    await write(1);
    await world.runtime.advance(5_000);
    expect(attempts()).toEqual([{ call: 1, delivery: 1, tier: 0, total: 1 }]);
    expect(await values(next)).toEqual(['0']);
    await world.runtime.advance(10_000);
    const again = { call: 1, delivery: 1, tier: 1, total: 2 };
    expect(attempts().slice(1)).toEqual(next === 'orders.DLT' ? [] : [again]);
  });

  it.each([
    ['the one that is registered in errorTypes', 1],
    ['another one', 3],
  ])('of a class that a name stands for, %s, is called %i times', async (which, times) => {
    class Declined extends Error {}
    class DeclinedForGood extends Declined {}
    failWith = () => (which === 'another one' ? new Error('no') : new DeclinedForGood('no'));
    const retry = { nonRetryableExceptions: ['PaymentDeclined'] };
    const errorTypes = { PaymentDeclined: Declined };
    await world.startOrders([Orders], { ...QUICK, retry }, { errorTypes });
    await write(1);
    await world.runtime.advance(450);
    expect(calls).toHaveLength(times);
  });

  it("with mode 'seek' is called once for each delivery, and the waits of tier 0 are between them", async () => {
    const tier0 = { initialBackoffMs: 10_000, multiplier: 3, maxBackoffMs: 60_000 };
    const application = await start({ retry: { mode: 'seek', tier0 } });
    await write(1);
    await world.runtime.advance(5_000);
    const { partitionPauses } = registrationOf(application).mainContainer.status;
    expect(partitionPauses).toMatchObject([{ partition: 0, reasons: ['backoff'] }]);
    await world.runtime.advance(100_000);
    const [first = 0, second = 0] = gaps();
    expect(first).toBeGreaterThan(5_000);
    expect(first).toBeLessThanOrEqual(10_050);
    expect(second).toBeGreaterThan(15_000);
    expect(second).toBeLessThanOrEqual(30_050);
    expect(await world.committed()).toBe(1);
    expect(attempts().slice(0, 3)).toEqual([
      { call: 1, delivery: 1, tier: 0, total: 1 },
      { call: 1, delivery: 2, tier: 0, total: 2 },
      { call: 1, delivery: 3, tier: 0, total: 3 },
    ]);
  });

  it('has no options left that are said to be without effect', async () => {
    await start({
      retry: {
        mode: 'in-line',
        tier0: { maxAttempts: 3, initialBackoffMs: 1, multiplier: 1, maxBackoffMs: 1 },
        retryableExceptions: [Error],
        nonRetryableExceptions: [TypeError],
      },
      circuitBreaker: { enabled: true, slidingWindowSize: 20, automaticPauseOnOpen: true },
    });
    expect(world.said.warnings.filter((line) => line.includes('no effect'))).toEqual([]);
  });
});

/** Long enough to meet it in its middle. */
const LONG_WAIT = {
  maxPollRecords: 1,
  retry: { tier0: { initialBackoffMs: 60_000, maxBackoffMs: 60_000 } },
};

describe('a wait between two calls', () => {
  it('ends with a pause: nothing is called after pause() resolved, and the attempt is not counted', async () => {
    const application = await start(LONG_WAIT);
    const lifecycle = application.get(LifecycleManager);
    await write(1);
    await world.runtime.advance(1_000);
    const pausedAt = world.runtime.monotonic();
    await world.done(lifecycle.pause('orders'));
    expect(world.runtime.monotonic() - pausedAt).toBeLessThanOrEqual(100);
    const { mainContainer } = registrationOf(application);
    expect(mainContainer.status.runningHandlers).toBe(0);
    expect(mainContainer.counts).toMatchObject({ failed: 0, inFlight: 0 });
    await world.runtime.advance(200_000);
    expect(calls).toHaveLength(1);
    isDown = false;
    await world.done(lifecycle.resume('orders'));
    await world.runtime.advance(1_000);
    expect(done).toEqual(['0/0']);
    expect(attempts().at(-1)).toEqual({ call: 1, delivery: 1, tier: 0, total: 1 });
  });

  it('ends with a revocation: the next owner does not wait for it', async () => {
    await start(LONG_WAIT);
    await write(1, 0);
    await write(1, 1);
    await world.runtime.advance(1_000);
    expect(calls.map(({ place }) => place)).toEqual(['0/0', '1/0']);
    const joinedAt = world.runtime.monotonic();
    await start(LONG_WAIT);
    await world.runtime.advance(3_000);
    const [again] = calls.slice(2);
    expect(again?.at).toBeLessThanOrEqual(joinedAt + 3_000);
    expect(again?.attempt).toMatchObject({ call: 1, delivery: 1 });
    isDown = false;
    await world.runtime.advance(120_000);
    expect(new Set(done)).toEqual(new Set(['0/0', '1/0']));
  });

  it('ends with the shutdown', async () => {
    const application = await start(LONG_WAIT);
    await write(1);
    await world.runtime.advance(1_000);
    const closedAt = world.runtime.monotonic();
    await world.done(application.close());
    expect(world.runtime.monotonic() - closedAt).toBeLessThan(2_000);
    expect(calls).toHaveLength(1);
    expect(await world.committed()).toBe(0);
  });
});

const CIRCUIT = {
  enabled: true,
  slidingWindowSize: 4,
  minimumNumberOfCalls: 4,
  permittedNumberOfCallsInHalfOpenState: 2,
  waitDurationInOpenStateMs: 30_000,
} as const;

/** One call for each delivery, so that four failures are four deliveries. */
const GUARDED = { retry: { tier0: { maxAttempts: 1 } }, circuitBreaker: CIRCUIT };

async function openCircuit(application: INestApplicationContext): Promise<void> {
  const { circuitBreaker } = registrationOf(application);
  for (let tries = 0; tries < 600 && circuitBreaker.current?.state !== 'OPEN'; tries++)
    await world.runtime.advance(50);
  await world.runtime.advance(50);
}

describe('a binding with a circuit breaker', () => {
  // The circuit decides about what the world is to blame for: such a record stays in its place.
  beforeEach(() => {
    failWith = () => Object.assign(new Error('down'), { code: 'ECONNREFUSED' });
  });

  it('has one, the very same for its main container and its tiers; without the option there is none', async () => {
    const guarded = registrationOf(await start({ circuitBreaker: { enabled: true } }));
    const { circuitBreaker, mainContainer, retryTierContainers } = guarded;
    expect(circuitBreaker.current).toBeDefined();
    expect(retryTierContainers).toHaveLength(3);
    for (const container of [mainContainer, ...retryTierContainers])
      expect(container.circuitBreaker.current).toBe(circuitBreaker.current);
    expect(registrationOf(await start()).circuitBreaker.current).toBeUndefined();
  });

  it('is paused when its circuit opens, and nobody is called', async () => {
    const application = await start(GUARDED);
    await write(10);
    await openCircuit(application);
    expect(registrationOf(application)).toMatchObject({ state: 'PAUSED', pauses: ['circuit'] });
    expect(calls).toHaveLength(4);
    await world.runtime.advance(20_000);
    expect(calls).toHaveLength(4);
    expect(await world.committed()).toBe(0);
    expect(world.health(application).bindings).toMatchObject([
      { status: 'DEGRADED', reasons: ['paused: circuit'] },
    ]);
    expect(world.said.warnings.join()).toContain("The circuit of binding 'orders' opened");
  });

  it('stays in its group meanwhile, for longer than the session time-out, without a rebalance', async () => {
    const sessions: ConsumerSession[] = [];
    const driver = observed(memory({ broker: world.broker, clientId: 'bus' }), sessions);
    const bindings = {
      orders: {
        topic: 'orders',
        groupId: 'shop',
        ...QUICK,
        ...GUARDED,
        retry: { tiers: [], tier0: { maxAttempts: 1 } },
      },
    };
    const imports = [world.bus({ driver, bindings })];
    const application = await world.start({ imports, providers: [Orders] });
    await write(10);
    await openCircuit(application);
    const before = [
      (await world.members()).map(({ memberId }) => memberId),
      sessions.map(({ generation }) => generation),
    ];
    await world.runtime.advance(QUICK.sessionTimeoutMs * 4);
    expect(registrationOf(application).pauses).toEqual(['circuit']);
    expect([
      (await world.members()).map(({ memberId }) => memberId),
      sessions.map(({ generation }) => generation),
    ]).toEqual(before);
    expect(sessions).toHaveLength(1);
  });

  it('recovers by itself: half open by its own timer, with no traffic at all', async () => {
    const application = await start(GUARDED);
    await write(10);
    await openCircuit(application);
    isDown = false;
    const openedAt = registrationOf(application).circuitBreaker.current!.since;
    await world.runtime.advance(31_000);
    expect(calls[4]!.at).toBeGreaterThanOrEqual(openedAt - 1_767_225_600_000 + 30_000);
    expect(registrationOf(application)).toMatchObject({ state: 'RUNNING', pauses: [] });
    expect(registrationOf(application).circuitBreaker.current?.state).toBe('CLOSED');
    expect(done).toEqual(places(10));
    expect(await world.committed()).toBe(10);
  });

  it('that still fails is paused again, after as many calls as are permitted', async () => {
    const application = await start(GUARDED);
    await write(10, 0);
    await write(10, 1);
    await openCircuit(application);
    for (const round of [1, 2, 3]) {
      await world.runtime.advance(32_000);
      expect(registrationOf(application)).toMatchObject({ state: 'PAUSED', pauses: ['circuit'] });
      expect(calls).toHaveLength(4 + 2 * round);
    }
    isDown = false;
    await world.runtime.advance(40_000);
    expect(done.toSorted()).toEqual([...places(10, 0), ...places(10, 1)].toSorted());
  });

  it.each([1, 2])(
    'recovers in a moment, however long it was down: no partition waits for a backoff that grew meanwhile (%i trial calls)',
    async (permittedNumberOfCallsInHalfOpenState) => {
      const circuitBreaker = {
        ...CIRCUIT,
        permittedNumberOfCallsInHalfOpenState,
        waitDurationInOpenStateMs: 2_000,
      };
      const retry = { ...GUARDED.retry, tiers: [] };
      const application = await start({ retry, circuitBreaker, concurrency: 2 });
      takesMs = 100;
      await write(5, 0);
      await write(5, 1);
      // Longer than a backoff takes to grow to its limit.
      await world.runtime.advance(120_000);
      await openCircuit(application);
      isDown = false;
      await world.runtime.advance(2_000 + 5 * takesMs + 1_000);
      expect(done.toSorted()).toEqual([...places(5, 0), ...places(5, 1)].toSorted());
    },
  );

  it('that its operator paused meanwhile stays paused when the circuit is half open', async () => {
    const application = await start(GUARDED);
    const lifecycle = application.get(LifecycleManager);
    await write(10);
    await openCircuit(application);
    await world.done(lifecycle.pause('orders'));
    isDown = false;
    await world.runtime.advance(60_000);
    expect(registrationOf(application)).toMatchObject({ state: 'PAUSED', pauses: ['operator'] });
    expect(calls).toHaveLength(4);
    await world.done(lifecycle.resume('orders'));
    await world.runtime.advance(5_000);
    expect(done).toEqual(places(10));
  });

  it('cannot be resumed by its operator while the circuit is open', async () => {
    const application = await start(GUARDED);
    const lifecycle = application.get(LifecycleManager);
    await write(10);
    await openCircuit(application);
    expect(await world.done(lifecycle.resume('orders'))).toMatchObject({
      state: 'PAUSED',
      remainingPauses: ['circuit'],
    });
    await world.runtime.advance(5_000);
    expect(calls).toHaveLength(4);
  });

  it('counts the calls of all its sessions in one window', async () => {
    const application = await start({ ...GUARDED, concurrency: 2 });
    await write(10, 0);
    await write(10, 1);
    await openCircuit(application);
    const partitions = calls.map(({ place }) => place[0]);
    expect(partitions.filter((each) => each === '0')).toHaveLength(2);
    expect(partitions.filter((each) => each === '1')).toHaveLength(2);
    const sessions = registrationOf(application).mainContainer.status.pauses;
    expect(sessions).toEqual(['circuit']);
    isDown = false;
    await world.runtime.advance(60_000);
    expect(done.toSorted()).toEqual([...places(10, 0), ...places(10, 1)].toSorted());
    expect(await world.committed('shop', 0)).toBe(10);
    expect(await world.committed('shop', 1)).toBe(10);
  });

  it('counts no attempt for what it hands back unhandled', async () => {
    const application = await start({ ...GUARDED, concurrency: 2 });
    await write(10, 0);
    await write(10, 1);
    await openCircuit(application);
    const { counts } = registrationOf(application).mainContainer;
    expect(counts.failed).toBe(4);
    isDown = false;
    await world.runtime.advance(60_000);
    const handled = calls.filter(({ place }) => place === '0/0');
    expect(handled.at(-1)?.attempt).toMatchObject({
      delivery: handled.length,
      total: handled.length,
    });
  });

  it('closes, although a record waits to be written to its retry topic since before it opened', async () => {
    const refused = { operation: 'produce', topic: 'orders.retry-1' } as const;
    const fault = world.broker.faults.refuse(refused, 'TOPIC_AUTHORIZATION_FAILED');
    const application = await start({
      ...GUARDED,
      circuitBreaker: { ...CIRCUIT, failureRateThreshold: 60, minimumNumberOfCalls: 2 },
    });
    isDown = false;
    await write(2);
    isDown = true;
    await write(1);
    // Two calls of the four have failed by now: its own trouble, says the circuit.
    await world.runtime.advance(10_000);
    expect(registrationOf(application).circuitBreaker.current?.state).toBe('CLOSED');
    await write(1, 1);
    await openCircuit(application);
    isDown = false;
    fault.lift();
    await write(5);
    await world.runtime.advance(120_000);
    expect(registrationOf(application).circuitBreaker.current?.state).toBe('CLOSED');
    expect([await world.committed('shop', 0), await world.committed('shop', 1)]).toEqual([8, 1]);
  });

  it('is not opened by bad messages', async () => {
    failWith = () => new TypeError('bad');
    const retry = { tier0: { maxAttempts: 1 }, nonRetryableExceptions: [TypeError] };
    const application = await start({ ...GUARDED, retry });
    await write(10);
    await world.runtime.advance(120_000);
    expect(calls).toHaveLength(10);
    expect(await values('orders.DLT')).toHaveLength(10);
    expect(registrationOf(application)).toMatchObject({ state: 'RUNNING' });
  });

  it('without automaticPauseOnOpen goes on, and its records leave without a call', async () => {
    const circuitBreaker = { ...CIRCUIT, automaticPauseOnOpen: false };
    const application = await start({ ...GUARDED, circuitBreaker });
    await write(10);
    await openCircuit(application);
    await world.runtime.advance(10_000);
    expect(calls).toHaveLength(4);
    const { state, mainContainer } = registrationOf(application);
    expect(state).toBe('RUNNING');
    expect(mainContainer.counts).toMatchObject({ failed: 4, retried: 10 });
    // Not to the first tier: an outage takes its time.
    const hops = await world.records('orders.retry-2');
    const told = hops.map(({ headers }) => [
      headerText(headers, 'x-eventbus-tier0-exception'),
      headerText(headers, 'x-eventbus-total-attempts'),
    ]);
    // The first was called four times, until the circuit opened; the others never.
    const attempts = ['4', ...places(9).map(() => '0')];
    expect(told).toEqual(attempts.map((count) => ['CircuitBreakerOpenException', count]));
    isDown = false;
    await world.runtime.advance(120_000);
    expect(done).toHaveLength(10);
    expect(await values('orders.DLT')).toEqual([]);
  });

  it('that is stopped and started while its circuit is open begins with a closed one', async () => {
    const application = await start(GUARDED);
    const lifecycle = application.get(LifecycleManager);
    await write(10);
    await openCircuit(application);
    await world.done(lifecycle.stop('orders'));
    isDown = false;
    await world.done(lifecycle.start('orders'));
    await world.runtime.advance(5_000);
    expect(done).toEqual(places(10));
    expect(registrationOf(application).circuitBreaker.current?.state).toBe('CLOSED');
  });

  it('leaves no timer behind when the application closes while it is open', async () => {
    const application = await start(GUARDED);
    const { circuitBreaker } = registrationOf(application);
    await write(10);
    await openCircuit(application);
    await world.done(application.close());
    expect(circuitBreaker.current?.state).toBe('CLOSED');
    await world.runtime.advance(10_000);
    expect(world.runtime.pendingTimers).toBe(0);
  });

  it('lets a retry that waits go when the circuit opens: nobody is called by it any more', async () => {
    const tier0 = { maxAttempts: 2, initialBackoffMs: 1_000, maxBackoffMs: 1_000 };
    const circuitBreaker = { ...CIRCUIT, slidingWindowSize: 1, minimumNumberOfCalls: 1 };
    const application = await start({ retry: { tier0 }, circuitBreaker, maxPollRecords: 1 });
    await write(1, 0);
    await world.runtime.advance(400);
    await write(1, 1);
    await openCircuit(application);
    expect(calls.map(({ place }) => place)).toEqual(['0/0', '1/0', '0/0']);
    await world.runtime.advance(10_000);
    expect(calls).toHaveLength(3);
  });
});

function observed(driver: BrokerDriver, sessions: ConsumerSession[]): BrokerDriver {
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
