import { Deferred } from '@nest-event-bus/broker/runtime';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import type { BindingLag } from '../../src/model/states/lag.js';
import { EventBusMetrics } from '../../src/observability/event-bus-metrics.js';
import { LagService } from '../../src/observability/lag/lag-service.js';
import type { MetricSample } from '../../src/observability/metric-family.js';
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;
let handle: (record: EventRecord<number>, context: EventContext) => unknown;

beforeEach(async () => {
  testBus = new TestBus();
  handle = () => undefined;
  await testBus.topic('orders');
  await testBus.failureTopics();
});

afterEach(() => testBus.end());

@Injectable()
class Orders {
  @EventHandler('orders')
  onOrder(record: EventRecord<number>, context: EventContext): unknown {
    return handle(record, context);
  }
}

const INTERVAL_MS = 1_000;
/** Polls that fill the window of the status. */
const WINDOW_MS = 7 * INTERVAL_MS;

async function start(properties: object = {}, lag: object = {}) {
  const options = { lag: { intervalMs: INTERVAL_MS, ...lag } };
  return testBus.startOrders([Orders], properties, options);
}

const service = (application: INestApplicationContext): LagService =>
  application.get(LagService, { strict: false });

function lagOf(application: INestApplicationContext): BindingLag {
  const lag = service(application).of('orders');
  if (!lag) throw new Error('There was no poll.');
  return lag;
}

const connector = (application: INestApplicationContext): EventBusConnector =>
  application.get(EventBusConnector, { strict: false });

describe('LagService', () => {
  it('finds no lag where everything is done', async () => {
    const application = await start();
    await testBus.write('orders', '1', '2', '3');
    await testBus.runtime.advance(3 * INTERVAL_MS);
    expect(lagOf(application)).toMatchObject({
      binding: 'orders',
      groupId: 'shop',
      records: 0,
      seconds: 0,
      status: 'OK',
      cause: undefined,
      error: undefined,
      tiers: [{ tier: 1 }, { tier: 2 }, { tier: 3 }],
    });
    expect(lagOf(application).main.partitions).toMatchObject([
      { topic: 'orders', partition: 0, low: 0, high: 3, committed: 3, records: 0 },
    ]);
  });

  it('measures seconds by the first unfinished record, and names the handler that holds it', async () => {
    const hanging = new Deferred();
    handle = ({ offset }) => (offset === 1n ? hanging.promise : undefined);
    const application = await start({ stuckHandlerMs: 60_000 });
    await testBus.write('orders', '1', '2', '3');
    await testBus.runtime.advance(30_000);
    const lag = lagOf(application);
    expect(lag).toMatchObject({
      records: 2,
      status: 'STALLED',
      cause: 'a handler has been running for 30 s on orders-0@1',
    });
    expect(lag.seconds).toBeCloseTo(30, 0);
    hanging.resolve();
    await testBus.runtime.advance(2 * INTERVAL_MS);
    expect(lagOf(application)).toMatchObject({ records: 0, seconds: 0, status: 'OK' });
  });

  it('calls a handler stuck that runs longer than stuckHandlerMs, before the window is full', async () => {
    const hanging = new Deferred();
    handle = () => hanging.promise;
    const application = await start({ stuckHandlerMs: 2_000 });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(3_500);
    expect(lagOf(application).status).toBe('STALLED');
    hanging.resolve();
  });

  it('counts on while an operator has paused the binding, and names the operator', async () => {
    const application = await start();
    await testBus.write('orders', '1');
    const pausing = connector(application).pause('orders', { by: 'ann', reason: 'audit' });
    await testBus.done(pausing);
    await testBus.write('orders', '2', '3');
    await testBus.runtime.advance(20_000);
    const lag = lagOf(application);
    expect(lag).toMatchObject({ records: 2, status: 'PAUSED' });
    expect(lag.cause).toBe('paused by an operator by ann (audit). Resume it');
    expect(lag.seconds).toBeCloseTo(20, 0);
    await testBus.done(connector(application).resume('orders'));
    await testBus.runtime.advance(2 * INTERVAL_MS);
    expect(lagOf(application)).toMatchObject({ records: 0, status: 'OK' });
  });

  it('counts on while the binding is stopped', async () => {
    const application = await start();
    await testBus.write('orders', '1');
    await testBus.done(connector(application).stop('orders', { by: 'ann' }));
    await testBus.write('orders', '2', '3');
    await testBus.runtime.advance(WINDOW_MS);
    expect(lagOf(application)).toMatchObject({
      records: 2,
      status: 'STOPPED',
      cause: 'the binding is STOPPED by ann. Start it',
    });
  });

  it('reads the age of a backlog that is older than the process', async () => {
    await testBus.write('orders', '1', '2');
    await testBus.runtime.advance(100_000);
    const application = await start({ autoStartup: false });
    await testBus.runtime.advance(2 * INTERVAL_MS);
    const lag = lagOf(application);
    expect(lag.records).toBe(2);
    expect(lag.seconds).toBeGreaterThan(100);
    expect(lag.seconds).toBeLessThan(105);
  });

  it('counts no record that the retention has deleted', async () => {
    const application = await start();
    await testBus.write('orders', '1', '2');
    await testBus.done(connector(application).stop('orders'));
    await testBus.write('orders', '3', '4', '5');
    const before = [{ partition: 0, offset: 5 }];
    await testBus.done(testBus.outside.admin().deleteRecords('orders', before));
    await testBus.runtime.advance(2 * INTERVAL_MS);
    expect(lagOf(application)).toMatchObject({ records: 0, seconds: 0, status: 'OK' });
    expect(lagOf(application).main.partitions).toMatchObject([{ low: 5, high: 5, committed: 2 }]);
  });

  it('counts all records of a topic that was deleted and created again', async () => {
    const application = await start();
    await testBus.write('orders', '1', '2', '3');
    await testBus.runtime.advance(2 * INTERVAL_MS);
    await testBus.done(connector(application).stop('orders'));
    await testBus.done(testBus.outside.admin().deleteTopics(['orders']));
    await testBus.topic('orders');
    await testBus.write('orders', '1', '2', '3', '4', '5');
    await testBus.runtime.advance(2 * INTERVAL_MS);
    expect(lagOf(application)).toMatchObject({ records: 5, status: 'STOPPED' });
  });

  it('says that an open circuit is the cause', async () => {
    handle = () => {
      throw Object.assign(new Error('down'), { code: 'ECONNREFUSED' });
    };
    const circuitBreaker = { enabled: true, minimumNumberOfCalls: 2, slidingWindowSize: 2 };
    const retry = { tier0: { maxAttempts: 1 } };
    const application = await start({ circuitBreaker, retry });
    await testBus.write('orders', '1', '2', '3', '4', '5');
    await testBus.runtime.advance(5_000);
    expect(lagOf(application)).toMatchObject({ status: 'CIRCUIT_OPEN' });
  });

  it('calls a retry topic fine whose records are not due', async () => {
    handle = () => {
      throw new Error('later');
    };
    const retry = { mode: 'in-line', tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 60_000 }] };
    const application = await start({ retry });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(20_000);
    const [tier] = lagOf(application).tiers;
    expect(tier).toMatchObject({
      topic: 'orders.retry-1',
      records: 1,
      status: 'OK',
      cause: 'its first record is not due yet',
    });
    expect(tier?.seconds).toBeCloseTo(20, 0);
  });

  it('warns of a lag that only grows, although records are done', async () => {
    handle = () =>
      new Promise((resolve) => testBus.runtime.setTimer(() => resolve(undefined), 500));
    const application = await start({ maxPollRecords: 1 });
    for (let poll = 0; poll < 20; poll++) {
      await testBus.write('orders', ...Array.from({ length: 20 }, () => '1'));
      await testBus.runtime.advance(INTERVAL_MS - 100);
    }
    const lag = lagOf(application);
    expect(lag.status).toBe('WARNING');
    expect(lag.cause).toMatch(/^the lag has grown from \d+ to \d+ in 6 s$/);
  });

  it('says so when the committed offset was set back', async () => {
    const application = await start();
    await testBus.write('orders', '1', '2', '3');
    await testBus.runtime.advance(2 * INTERVAL_MS);
    await testBus.done(connector(application).stop('orders'));
    const offsets = [{ topic: 'orders', partition: 0, offset: 1 }];
    await testBus.done(testBus.outside.admin().setGroupOffsets('shop', offsets));
    await testBus.runtime.advance(2 * INTERVAL_MS);
    expect(lagOf(application)).toMatchObject({ records: 2, status: 'REWIND' });
    expect(lagOf(application).cause).toMatch('went back from 3 to 1');
  });

  it('asks for each topic and its dead-letter topic once per poll, however many bindings read it', async () => {
    const bindings = Object.fromEntries(
      ['orders', 'b', 'c', 'd', 'e'].map((name) => [
        name,
        { topic: 'orders', groupId: name, retry: { tiers: [] } },
      ]),
    );
    @Injectable()
    class Many {
      @EventHandler('orders')
      @EventHandler('b')
      @EventHandler('c')
      @EventHandler('d')
      @EventHandler('e')
      handle(): void {}
    }
    const asked: string[] = [];
    const options = testBus.options(bindings);
    const { driver } = options as { driver: { admin: () => object } };
    const openAdmin = driver.admin.bind(driver);
    driver.admin = () =>
      new Proxy(openAdmin(), {
        get: (admin, name) => {
          asked.push(String(name));
          const member: unknown = Reflect.get(admin, name);
          return typeof member === 'function' ? (member.bind(admin) as unknown) : member;
        },
      });
    const application = await testBus.start({
      imports: [testBus.module({ ...options, lag: { intervalMs: INTERVAL_MS } })],
      providers: [Many],
    });
    asked.length = 0;
    await testBus.done(service(application).refresh());
    const times = (name: string): number => asked.filter((each) => each === name).length;
    expect([times('topics'), times('watermarks'), times('groupOffsets')]).toEqual([1, 2, 5]);
    expect(service(application).all()).toHaveLength(5);
  });

  it('keeps the last figures while the cluster does not answer, and says so', async () => {
    const application = await start();
    await testBus.write('orders', '1');
    await testBus.runtime.advance(2 * INTERVAL_MS);
    const { at } = lagOf(application);
    const outage = testBus.broker.faults.unplug({ clientId: 'bus' });
    await testBus.runtime.advance(60_000);
    const lag = lagOf(application);
    expect(lag.at).toBeLessThanOrEqual((at ?? 0) + INTERVAL_MS);
    expect(lag.error).toBeDefined();
    outage.lift();
    await testBus.runtime.advance(60_000);
    expect(lagOf(application).error).toBeUndefined();
  });

  it('warns once a minute while polls fail, and says when they succeed again', async () => {
    const application = await start();
    const lines = (all: readonly string[]) =>
      all.filter((line) => line.includes("lag of cluster 'default'"));
    const outage = testBus.broker.faults.unplug({ clientId: 'bus' });
    await testBus.runtime.advance(5 * 60_000);
    expect(lagOf(application).error).toBeDefined();
    const { length } = lines(testBus.log.warnings);
    expect(length).toBeGreaterThanOrEqual(4);
    expect(length).toBeLessThanOrEqual(6);
    expect(lines(testBus.log.warnings)[0]).toContain('cannot be read');
    outage.lift();
    await testBus.runtime.advance(3 * 60_000);
    expect(lines(testBus.log.warnings).length - length).toBeLessThanOrEqual(1);
    expect(lines(testBus.log.infos)).toEqual([expect.stringContaining('can be read again')]);
  });

  it('does not warn of a poll that has no right to read', async () => {
    const application = await start();
    const refusal = 'GROUP_AUTHORIZATION_FAILED';
    testBus.broker.faults.refuse({ operation: 'fetch-offsets', clientId: 'bus' }, refusal);
    await testBus.runtime.advance(5 * 60_000);
    expect(lagOf(application).error).toBeDefined();
    expect(testBus.log.warnings.filter((line) => line.includes('lag of cluster'))).toEqual([]);
    expect(testBus.log.everything.join()).toContain('The process has no right to read the lag');
  });

  it('asks at the interval of lag.intervalMs', async () => {
    const application = await start({}, { intervalMs: 60_000 });
    await testBus.runtime.advance(50_000);
    expect(service(application).of('orders')).toBeUndefined();
    await testBus.runtime.advance(15_000);
    expect(service(application).of('orders')).toBeDefined();
  });

  it('asks nothing if lag.enabled is false', async () => {
    const application = await start({}, { enabled: false });
    await testBus.runtime.advance(60_000);
    await testBus.done(service(application).refresh());
    expect(service(application).of('orders')).toBeUndefined();
    expect(service(application).all()).toEqual([]);
  });
});

describe('The metrics of lag', () => {
  it('have the figures of the last poll', async () => {
    const hanging = new Deferred();
    handle = () => hanging.promise;
    const application = await start({ alerts: { lagWarning: 1 } });
    await testBus.write('orders', '1', '2', '3');
    await testBus.write('orders.DLT', '4');
    await testBus.runtime.advance(10_000);
    const families = application.get(EventBusMetrics, { strict: false }).collect();
    const valuesOf = (name: string) =>
      families.find((family) => family.name === name)?.samples as readonly MetricSample[];
    const labels = { binding: 'orders', cluster: 'default' };
    const main = { ...labels, topic: 'orders', tier: '0' };
    expect(valuesOf('eventbus.consumer.lag')[0]).toEqual({
      labels: { ...main, partition: '0' },
      value: 3,
    });
    const [seconds] = valuesOf('eventbus.consumer.lag.seconds');
    expect(seconds?.value).toBeCloseTo(10, 0);
    expect(valuesOf('eventbus.consumer.lag.status')[0]).toEqual({ labels: main, value: 2 });
    expect(valuesOf('eventbus.retry.tier.depth')).toHaveLength(3);
    expect(valuesOf('eventbus.retry.tier.oldest.seconds')).toHaveLength(3);
    const letters = { ...labels, topic: 'orders.DLT' };
    expect(valuesOf('eventbus.dlt.depth')).toEqual([{ labels: letters, value: 1 }]);
    expect(valuesOf('eventbus.dlt.oldest.seconds')[0]?.value).toBeGreaterThan(9);
    expect(valuesOf('eventbus.lag.alert.level')[0]).toEqual({
      labels: { ...labels, of: 'main', topic: 'orders', tier: '0', measure: 'records' },
      value: 1,
    });
    expect(valuesOf('eventbus.lag.poll.failed')).toEqual([{ labels, value: 0 }]);
    expect(valuesOf('kafka.consumer.records.lag.max')[0]).toEqual({
      labels: { group: 'shop' },
      value: 3,
    });
    hanging.resolve();
  });
});
