import { Deferred } from '@nest-event-bus/broker/runtime';
import { Injectable, Logger, type INestApplication } from '@nestjs/common';
import { KafkaHealth } from '../../src/containers/health/kafka-health.js';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { ShutdownCoordinator } from '../../src/containers/shutdown/shutdown-coordinator.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { NonRetryableException } from '../../src/errors/retry-errors.js';
import { EventBusHealthModule, type HealthEndpointOptions } from '../../src/terminus/index.js';
import { httpRequest, type HttpAnswer } from '../support/http-request.spec-support.js';
import { TestBus, type Options } from '../support/test-bus.spec-support.js';

let testBus: TestBus;
let application: INestApplication;
let gate: Deferred;
let handle: () => unknown;

@Injectable()
class Orders {
  @EventHandler('orders')
  onOrder(): unknown {
    return handle();
  }
}

beforeEach(() => {
  testBus = new TestBus();
  gate = new Deferred();
  handle = () => undefined;
});

afterEach(async () => {
  gate.resolve();
  await testBus.end();
});

const RETRY = { tier0: { maxAttempts: 1 }, tiers: [] };

interface World {
  readonly properties?: object;
  readonly options?: Options;
  readonly endpoints?: HealthEndpointOptions;
  readonly topics?: readonly string[];
}

async function start({
  properties = {},
  options = {},
  endpoints = {},
  topics = ['orders', 'orders.DLT'],
}: World = {}): Promise<void> {
  for (const topic of topics) await testBus.topic(topic);
  const bindings = { orders: { topic: 'orders', groupId: 'shop', retry: RETRY, ...properties } };
  const imports = [
    testBus.module({ ...options, bindings }),
    EventBusHealthModule.withEndpoints(endpoints),
  ];
  application = await testBus.startHttp({ imports, providers: [Orders] }, () => undefined);
  await application.listen(0);
}

/** Virtual time does not pass during the request. */
const get = (path: string): Promise<HttpAnswer> => httpRequest(application, 'GET', path);

interface Shown {
  readonly status: string;
  readonly state: string;
  readonly shuttingDown?: boolean;
  readonly bindings: Readonly<Record<string, { status: string; doctor?: string }>>;
}

/** Returns the answer of /health/ready: HTTP status, state of the bus, text of the doctor. */
async function ready(): Promise<readonly [number | undefined, string, string | undefined]> {
  const { status, body } = await get('/health/ready');
  const { eventbus } = (body as { details: { eventbus: Shown } }).details;
  return [status, eventbus.state, eventbus.bindings['orders']?.doctor];
}

async function live(): Promise<number | undefined> {
  return (await get('/health/live')).status;
}

const connector = () => application.get(EventBusConnector, { strict: false });

describe('GET /health/ready', () => {
  it('is UP while the binding reads', async () => {
    await start();
    expect(await ready()).toEqual([200, 'UP', undefined]);
  });

  it('is UP if the binding was never to start, or was stopped', async () => {
    await start({ properties: { autoStartup: false } });
    expect(await ready()).toEqual([200, 'UP', undefined]);
    await testBus.done(connector().start('orders'));
    await testBus.done(connector().stop('orders'));
    expect(await ready()).toEqual([200, 'UP', undefined]);
  });

  it('is DEGRADED while an operator has paused the binding, and names the operator', async () => {
    await start();
    await testBus.done(connector().pause('orders', { by: 'ann', reason: 'audit' }));
    const text = 'orders: it was paused by ann (audit). Resume it.';
    expect(await ready()).toEqual([200, 'DEGRADED', text]);
    await testBus.done(connector().resume('orders'));
    expect(await ready()).toEqual([200, 'UP', undefined]);
  });

  it('answers 503 for DEGRADED with degradedAs: down', async () => {
    await start({ endpoints: { degradedAs: 'down' } });
    await testBus.done(connector().pause('orders'));
    expect((await ready())[0]).toBe(503);
  });

  it('is DEGRADED while the circuit is open', async () => {
    handle = () => {
      throw Object.assign(new Error('down'), { code: 'ECONNREFUSED' });
    };
    const circuitBreaker = { enabled: true, minimumNumberOfCalls: 2, slidingWindowSize: 2 };
    await start({ properties: { circuitBreaker } });
    await testBus.write('orders', '1', '2', '3');
    await testBus.runtime.advance(5_000);
    const [status, state, doctor] = await ready();
    expect([status, state]).toEqual([200, 'DEGRADED']);
    expect(doctor).toMatch(/^orders: its circuit is open, .* Repair what the handler depends on/);
  });

  it('is DEGRADED while a handler is stuck, and names its record', async () => {
    handle = () => gate.promise;
    await start({ properties: { stuckHandlerMs: 5_000 } });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(20_000);
    const [status, state, doctor] = await ready();
    expect([status, state]).toEqual([200, 'DEGRADED']);
    expect(doctor).toMatch(/a handler has been running for 20 s on orders-0@0/);
  });

  it('is DOWN while a handler exceeds maxPollIntervalMs', async () => {
    handle = () => gate.promise;
    await start({ properties: { maxPollIntervalMs: 60_000, stuckHandlerMs: 5_000 } });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(90_000);
    const [status, state, doctor] = await ready();
    expect([status, state]).toEqual([503, 'DOWN']);
    expect(doctor).toMatch(/longer than maxPollIntervalMs/);
  });

  it('is DEGRADED while a partition waits for a decision', async () => {
    handle = () => {
      throw new Error('no');
    };
    await start({
      properties: { orderingMode: 'STRICT', strictExhaustion: 'PAUSE_PARTITION' },
    });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(60_000);
    const [status, state, doctor] = await ready();
    expect([status, state]).toEqual([200, 'DEGRADED']);
    expect(doctor).toMatch(/orders-0 waits for a decision about the record at offset 0/);
  });

  it('is DOWN while the topic does not exist', async () => {
    await start({ topics: ['orders.DLT'] });
    await testBus.runtime.advance(15_000);
    const [status, state, doctor] = await ready();
    expect([status, state]).toEqual([503, 'DOWN']);
    expect(doctor).toBe(
      "orders: topic 'orders' does not exist. Create it, correct its name, or set provisioning: 'create'.",
    );
  });

  it('is DOWN while the brokers do not answer, and UP again afterwards', async () => {
    await start();
    const outage = testBus.broker.faults.unplug({ clientId: 'bus' });
    await testBus.runtime.advance(60_000);
    const [status, state, doctor] = await ready();
    expect([status, state]).toEqual([503, 'DOWN']);
    expect(doctor).toMatch(/it cannot reach its cluster: .* Check the brokers/);
    outage.lift();
    await testBus.runtime.advance(60_000);
    expect(await ready()).toEqual([200, 'UP', undefined]);
  });

  it('is DOWN while failed records cannot be written to their dead-letter topic', async () => {
    handle = () => {
      throw new NonRetryableException('no');
    };
    await start({ topics: ['orders'] });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(40_000);
    const [status, state, doctor] = await ready();
    expect([status, state]).toEqual([503, 'DOWN']);
    expect(doctor).toMatch(/topic 'orders.DLT' cannot be written to/);
  });

  it('is DOWN while the bus drains', async () => {
    await start();
    await testBus.done(application.get(ShutdownCoordinator, { strict: false }).drain());
    expect((await ready()).slice(0, 2)).toEqual([503, 'DOWN']);
  });

  it('is up with the state DISABLED if the bus is switched off', async () => {
    await start({ options: { enabled: false } });
    expect((await ready()).slice(0, 2)).toEqual([200, 'DISABLED']);
  });
});

describe('GET /health/live', () => {
  it('is up during an outage of the brokers, without a topic, and while the bus drains', async () => {
    await start({ topics: [] });
    testBus.broker.faults.unplug({ clientId: 'bus' });
    await testBus.runtime.advance(600_000);
    expect(await live()).toBe(200);
    await testBus.done(application.get(ShutdownCoordinator, { strict: false }).drain());
    expect(await live()).toBe(200);
  });

  it('is down once a handler has ignored its signal for as long as maxPollIntervalMs', async () => {
    handle = () => gate.promise;
    await start({ properties: { maxPollIntervalMs: 60_000, stuckHandlerMs: 5_000 } });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(110_000);
    expect(await live()).toBe(200);
    await testBus.runtime.advance(20_000);
    expect(await live()).toBe(503);
  });
});

describe('GET /actuator/kafka', () => {
  it('answers what the cluster says about itself', async () => {
    await start();
    const { status, body } = await testBus.done(get('/actuator/kafka'));
    const { clusterId, brokers, controllerHost, ...rest } = body as Record<string, unknown>;
    expect(status).toBe(200);
    expect(rest).toEqual({ status: 'UP', brokersAvailable: 1, controllerId: expect.any(Number) });
    expect(clusterId).toEqual(expect.any(String));
    expect(brokers).toMatch(/^\S+:\d+ \(id=\d+\)$/);
    expect(brokers).toContain(String(controllerHost));
  });

  it('agrees with KafkaHealth.isHealthy()', async () => {
    await start();
    const health = application.get(KafkaHealth, { strict: false });
    expect(await testBus.done(health.isHealthy())).toBe(true);
    testBus.broker.faults.loseRequests({ clientId: 'bus' });
    expect(await testBus.done(health.isHealthy())).toBe(false);
  });

  it('answers DOWN with the error if no broker answers', async () => {
    await start();
    testBus.broker.faults.loseRequests({ clientId: 'bus' });
    const { body } = await testBus.done(get('/actuator/kafka'));
    expect(body).toEqual({
      status: 'DOWN',
      clusterId: null,
      brokersAvailable: 0,
      brokers: '',
      controllerId: null,
      controllerHost: null,
      error: expect.stringContaining('did not answer within 10000 ms'),
      errorType: 'RequestTimeoutError',
    });
  });
});

describe('EventBusHealthModule.withEndpoints()', () => {
  it('takes other paths, and leaves out endpoints', async () => {
    await start({ endpoints: { live: 'livez', ready: false, actuator: 'kafka' } });
    expect((await get('/livez')).status).toBe(200);
    expect((await testBus.done(get('/kafka'))).status).toBe(200);
    expect((await get('/health/ready')).status).toBe(404);
  });
});

Logger.overrideLogger(false);
