import { sleep } from '@nest-event-bus/broker/runtime';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { BatchProcessingException } from '../../src/errors/handler-errors.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { EventBusMetrics } from '../../src/observability/event-bus-metrics.js';
import type { MetricFamily } from '../../src/observability/metric-family.js';
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;
let checks: number;
let mostInFlight: number;
let checkMetrics: () => void;
let isDown: boolean;

beforeEach(() => {
  testBus = new TestBus();
  checks = 0;
  mostInFlight = 0;
  checkMetrics = () => undefined;
  isDown = false;
});

afterEach(() => testBus.end());

const metricsOf = (application: INestApplicationContext): EventBusMetrics =>
  application.get(EventBusMetrics, { strict: false });

type Labels = Readonly<Record<string, string>>;

/** Sums all samples that have these labels. */
function total(families: readonly MetricFamily[], name: string, labels: Labels = {}): number {
  const family = families.find((each) => each.name === `eventbus.${name}`);
  return (family === undefined || family.type === 'histogram' ? [] : family.samples)
    .filter((sample) =>
      Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    )
    .reduce((sum, { value }) => sum + value, 0);
}

function expectReconciled(families: readonly MetricFamily[], binding: string): void {
  const of = (name: string): number => total(families, name, { binding });
  const accounted = of('records.processed') + of('records.returned') + of('records.in.flight');
  expect(accounted).toBe(of('records.received'));
  mostInFlight = Math.max(mostInFlight, of('records.in.flight'));
  checks++;
}

const FAILURES: Readonly<Record<number, (context: EventContext) => unknown>> = {
  1: () => {
    throw new TypeError('a bug');
  },
  2: ({ attempt: { tier } }) => {
    if (tier === 0) throw new RangeError('later');
  },
  3: (context) => context.handBack({ delayMs: 300 }),
  4: (context) => context.deadLetter('no'),
};

@Injectable()
class BusyOrders {
  readonly #handedBack = new Set<bigint>();

  @EventHandler('orders')
  async onOrder({ offset, topic }: EventRecord<number>, context: EventContext): Promise<void> {
    checkMetrics();
    await sleep(testBus.runtime, Number(offset % 7n) * 10);
    checkMetrics();
    const kind = topic === 'orders' ? Number(offset % 11n) : 1;
    if (kind === 3 && this.#handedBack.has(offset)) return;
    if (kind === 3) this.#handedBack.add(offset);
    FAILURES[kind]?.(context);
  }
}

@Injectable()
class BusyAudit {
  @EventHandler.Batch('audit')
  async onAudit(records: readonly EventRecord<number>[]): Promise<void> {
    await sleep(testBus.runtime, 70);
    checkMetrics();
    const failed = records.findIndex(({ value }) => value % 5 === 4);
    if (failed >= 0) throw new BatchProcessingException(failed, 'no', records);
  }
}

describe('Metrics of a busy application', () => {
  it('are consistent at any moment: received records equal those with an outcome plus those in flight', async () => {
    for (const name of ['orders', 'audit'])
      for (const topic of [name, `${name}.retry-1`, `${name}.DLT`]) await testBus.topic(topic, 2);
    const retry = {
      tier0: { maxAttempts: 2, initialBackoffMs: 40 },
      tiers: [{ delayMs: 700, maxAttempts: 2 }],
    };
    const bindings = {
      orders: {
        topic: 'orders',
        groupId: 'shop',
        retry,
        concurrency: 2,
        processing: { by: 'key', maxConcurrency: 8 },
      },
      audit: { topic: 'audit', groupId: 'audit', retry, listenerType: 'BATCH' },
    } as const;
    const imports = [testBus.module({ bindings })];
    const application = await testBus.start({ imports, providers: [BusyOrders, BusyAudit] });
    const metrics = metricsOf(application);
    checkMetrics = () => {
      const families = metrics.collect();
      for (const binding of Object.keys(bindings)) expectReconciled(families, binding);
    };
    const lifecycle = application.get(LifecycleManager);
    const records = Array.from({ length: 60 }, (_, id) => ({
      key: `k${id % 9}`,
      partition: id % 2,
      value: `${id}`,
    }));
    for (const round of [1, 2, 3]) {
      await Promise.all([testBus.write('orders', ...records), testBus.write('audit', ...records)]);
      if (round === 2) await testBus.done(lifecycle.pause('orders'));
      for (let step = 0; step < 60; step++) {
        await testBus.runtime.advance(7);
        checkMetrics();
      }
      if (round === 2) await testBus.done(lifecycle.resume('orders'));
    }
    await testBus.runtime.advance(60_000);
    checkMetrics();
    expect(checks).toBeGreaterThan(500);
    expect(mostInFlight).toBeGreaterThan(3);

    const end = metrics.collect();
    for (const binding of ['orders', 'audit']) {
      expect(total(end, 'records.in.flight', { binding })).toBe(0);
      const letters = (await testBus.records(`${binding}.DLT`)).length;
      expect(letters).toBeGreaterThan(0);
      expect(total(end, 'records.dlq', { binding })).toBe(letters);
      expect(total(end, 'records.processed', { binding, outcome: 'dead-lettered' })).toBe(letters);
      const hops = (await testBus.records(`${binding}.retry-1`)).length;
      expect(total(end, 'records.retried', { binding, to: '1' })).toBe(hops);
      expect(total(end, 'records.processed', { binding, outcome: 'retried' })).toBe(hops);
      // Records that succeed in the main topic count for tier 0, and retry records for their tier.
      expect(total(end, 'records.processed', { binding, tier: '0' })).toBe(180);
      expect(total(end, 'records.processed', { binding, tier: '1' })).toBe(hops);
    }
    expect(total(end, 'records.failed', { binding: 'orders', exception: 'RangeError' })).toBe(
      total(end, 'records.failed', { binding: 'orders', tier: '0', exception: 'RangeError' }),
    );
    expect(total(end, 'records.failed', { exception: 'TypeError' })).toBeGreaterThan(0);
    expect(total(end, 'records.returned', { outcome: 'handed-back' })).toBeGreaterThan(0);
  });
});

@Injectable()
class Orders {
  @EventHandler('orders')
  async onOrder(): Promise<void> {
    await sleep(testBus.runtime, 10);
    if (isDown) throw Object.assign(new Error('down'), { code: 'ECONNREFUSED' });
  }
}

const CIRCUIT = {
  enabled: true,
  slidingWindowSize: 4,
  minimumNumberOfCalls: 4,
  permittedNumberOfCallsInHalfOpenState: 2,
  waitDurationInOpenStateMs: 30_000,
} as const;

describe('Metrics of a circuit', () => {
  it('contain its state, its transitions and the pause of the binding', async () => {
    await testBus.topic('orders');
    const retry = { tier0: { maxAttempts: 1 } };
    const application = await testBus.startOrders([Orders], { retry, circuitBreaker: CIRCUIT });
    const metrics = metricsOf(application);
    const valueOf = (name: string, labels?: Labels) => total(metrics.collect(), name, labels);
    isDown = true;
    await testBus.write('orders', '1', '2', '3', '4');
    for (let tries = 0; tries < 200 && valueOf('circuit.state') === 0; tries++)
      await testBus.runtime.advance(50);
    await testBus.runtime.advance(100);
    expect(valueOf('circuit.state')).toBe(1);
    expect(valueOf('container.state')).toBe(2);
    expect(valueOf('container.paused', { reason: 'circuit', tier: '0' })).toBe(1);
    expect(
      valueOf('circuit.transitions', { from: 'CLOSED', to: 'OPEN', cause: 'failure-rate' }),
    ).toBe(1);
    isDown = false;
    await testBus.runtime.advance(40_000);
    expect(valueOf('circuit.state')).toBe(0);
    expect(valueOf('container.state')).toBe(1);
    expect(valueOf('container.paused')).toBe(0);
    expect(valueOf('circuit.transitions', { from: 'OPEN', to: 'HALF_OPEN' })).toBe(1);
    expect(valueOf('circuit.recovered')).toBe(1);
    expect(valueOf('records.processed', { outcome: 'succeeded' })).toBe(4);
  });
});

describe('Metrics of a missing dead-letter topic', () => {
  it('name the topic until it becomes writable', async () => {
    await testBus.topic('orders');
    const retry = { tier0: { maxAttempts: 1 }, tiers: [] };
    const application = await testBus.startOrders([BusyOrders], { retry });
    const metrics = metricsOf(application);
    await testBus.write('orders', '0', '1');
    await testBus.runtime.advance(60_000);
    const labels = { binding: 'orders', cluster: 'default', topic: 'orders.DLT' };
    expect(total(metrics.collect(), 'publish.troubles', labels)).toBe(1);
    const failures = (): number => total(metrics.collect(), 'records.failed');
    expect(failures()).toBe(1);
    await testBus.topic('orders.DLT');
    await testBus.runtime.advance(120_000);
    expect(total(metrics.collect(), 'publish.troubles')).toBe(0);
    expect(total(metrics.collect(), 'records.dlq', { reason: 'RETRIES_EXHAUSTED' })).toBe(1);
    expect(failures()).toBe(1);
  });
});

describe('Metrics of a shutdown', () => {
  it('count the records of the drain, and the end of their binding', async () => {
    await testBus.topic('orders');
    const application = await testBus.startOrders([Orders]);
    await testBus.write('orders', '1', '2');
    await testBus.done(application.close());
    const families = metricsOf(application).collect();
    expect(total(families, 'records.processed', { outcome: 'succeeded' })).toBe(2);
    expect(total(families, 'container.state')).toBe(4);
  });
});

describe('Metrics of a binding that is registered at run time', () => {
  it('exist until it is unregistered, and start at zero after another registration', async () => {
    await testBus.topic('tenant');
    const application = await testBus.start({ imports: [testBus.module({})] });
    const metrics = metricsOf(application);
    const connector = application.get(EventBusConnector);
    const seen = () => {
      const received = metrics.collect().find(({ name }) => name === 'eventbus.records.received');
      return (received?.samples ?? []).filter(({ labels }) => labels['tier'] === '0');
    };
    const labels = { binding: 'tenant', cluster: 'default', topic: 'tenant', tier: '0' };
    const register = () =>
      testBus.done(connector.register('tenant', { topic: 'tenant', groupId: 'tenant' }, () => {}));
    await register();
    await testBus.runtime.advance(1_000);
    await testBus.write('tenant', '1', '2');
    expect(seen()).toEqual([{ labels, value: 2 }]);
    await testBus.done(connector.unregister('tenant'));
    expect(seen()).toEqual([]);
    await register();
    expect(seen()).toEqual([{ labels, value: 0 }]);
  });
});

describe('metrics.enabled', () => {
  const countsOf = (application: INestApplicationContext) =>
    application.get(ContainerRegistry).require('orders').counts;

  it('is true by default, and every container has metrics', async () => {
    await testBus.topic('orders');
    const application = await testBus.startOrders([Orders], { circuitBreaker: { enabled: true } });
    const families = metricsOf(application).collect();
    const tiersOf = (name: string) =>
      families
        .find((each) => each.name === `eventbus.${name}`)
        ?.samples.map(({ labels }) => labels['tier']);
    expect(tiersOf('records.received')).toEqual(['0', '1', '2', '3']);
    expect(tiersOf('circuit.state')).toHaveLength(1);
    expect(countsOf(application)).toBeDefined();
  });

  it('false collects and counts nothing, and does not change how records are handled', async () => {
    for (const topic of ['orders', 'orders.DLT']) await testBus.topic(topic);
    const retry = { tier0: { maxAttempts: 1 }, tiers: [] };
    const application = await testBus.startOrders(
      [BusyOrders],
      { retry, circuitBreaker: { enabled: true } },
      { metrics: { enabled: false } },
    );
    await testBus.write('orders', '0', '1', '2');
    await testBus.runtime.advance(5_000);
    expect(metricsOf(application).collect()).toEqual([]);
    expect(countsOf(application)).toBeUndefined();
    expect(await testBus.records('orders.DLT')).toHaveLength(2);
    expect(await testBus.committed()).toBe(3);
  });
});

describe('EventBusMetrics before the application is initialised', () => {
  it('has its metrics without samples, so that an exporter may read at any time', async () => {
    const bus = testBus.module({ bindings: { orders: { topic: 'orders', groupId: 'shop' } } });
    const application = await testBus.compile({ imports: [bus] });
    const families = metricsOf(application).collect();
    expect(families.length).toBeGreaterThan(0);
    expect(families.filter(({ samples }) => samples.length > 0)).toEqual([]);
  });
});
