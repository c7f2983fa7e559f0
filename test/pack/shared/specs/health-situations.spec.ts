import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { memory, MemoryBroker } from '@nest-event-bus/broker/memory';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import {
  EventBusConnector,
  EventBusModule,
  EventHandler,
  NonRetryableException,
  ShutdownCoordinator,
} from '@nest-event-bus/core';
import { EventBusHealthModule } from '@nest-event-bus/core/terminus';
import { Injectable, type INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';

/** The first test also loads the packages, and the machine may be busy. */
const TIMEOUT_MS = 120_000;

let runtime: VirtualRuntime;
let broker: MemoryBroker;
let application: INestApplication;
let handle: () => unknown;
let release: () => void;
let released: Promise<void>;

@Injectable()
class Orders {
  @EventHandler('orders')
  onOrder(): unknown {
    return handle();
  }
}

beforeEach(() => {
  runtime = new VirtualRuntime();
  broker = new MemoryBroker({ runtime });
  handle = () => undefined;
  released = new Promise((resolve) => (release = resolve));
});

afterEach(async () => {
  release();
  await done(application.close());
}, TIMEOUT_MS);

/** Advances the virtual time until the promise settles. */
async function done<T>(work: Promise<T>): Promise<T> {
  let isDone = false;
  const settled = (): void => void (isDone = true);
  work.then(settled, settled);
  for (let step = 0; step < 4_000 && !isDone; step++) await runtime.advance(50);
  return work;
}

interface World {
  readonly properties?: object;
  readonly options?: object;
  readonly endpoints?: { readonly degradedAs?: 'degraded' | 'down' };
  readonly topics?: readonly string[];
}

async function start({
  properties = {},
  options = {},
  endpoints = {},
  topics = ['orders', 'orders.DLT'],
}: World = {}): Promise<void> {
  const outside = memory({ broker, clientId: 'outside' });
  const wanted = topics.map((name) => ({ name, partitions: 1 }));
  if (wanted.length > 0) await done(outside.admin().createTopics(wanted));
  const retry = { tier0: { maxAttempts: 1 }, tiers: [] };
  const orders = { topic: 'orders', groupId: 'shop', retry, ...properties };
  const module = await Test.createTestingModule({
    imports: [
      EventBusModule.forRoot({
        driver: memory({ broker, clientId: 'bus' }),
        runtime,
        bindings: { orders },
        ...options,
      }),
      EventBusHealthModule.withEndpoints(endpoints),
    ],
    providers: [Orders],
  }).compile();
  application = module.createNestApplication();
  application.useLogger(false);
  await done(application.init());
  await application.listen(0);
  await runtime.advance(500);
}

async function write(count: number): Promise<void> {
  const producer = memory({ broker, clientId: 'outside' }).producer({ lingerMs: 0 });
  const records = Array.from({ length: count }, () => ({ topic: 'orders', value: '1' }));
  await done(producer.send(records));
  await runtime.advance(100);
}

interface Health {
  readonly status: string;
  readonly details: { readonly eventbus: { readonly status: string; readonly state: string } };
}

/** Returns HTTP status, status of Terminus, status of the indicator, and state of the bus. */
async function ready(): Promise<readonly unknown[]> {
  const { port } = (application.getHttpServer() as { address(): AddressInfo }).address();
  const [http, text] = await new Promise<[number | undefined, string]>((resolve, reject) => {
    request({ port, path: '/health/ready', agent: false }, (response) => {
      let body = '';
      response.on('data', (chunk) => (body += String(chunk)));
      response.on('end', () => resolve([response.statusCode, body]));
    })
      .on('error', reject)
      .end();
  });
  const { status, details } = JSON.parse(text) as Health;
  return [http, status, details.eventbus.status, details.eventbus.state];
}

/** Terminus has the status `degraded` from 12 on. */
const manifest = join(process.cwd(), 'node_modules/@nestjs/terminus/package.json');
const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
const hasDegraded = Number.parseInt(version, 10) >= 12;

const UP = [200, 'ok', 'up', 'UP'];
const DEGRADED = hasDegraded
  ? [200, 'degraded', 'degraded', 'DEGRADED']
  : [200, 'ok', 'up', 'DEGRADED'];
const DOWN = [503, 'error', 'down', 'DOWN'];

const connector = (): EventBusConnector => application.get(EventBusConnector, { strict: false });
const fail = (error: Error) => (): never => {
  throw error;
};
const refused = Object.assign(new Error('down'), { code: 'ECONNREFUSED' });

describe(`GET /health/ready with Terminus ${version}`, () => {
  it(
    '1: is UP while the binding reads',
    async () => {
      await start();
      expect(await ready()).toEqual(UP);
    },
    TIMEOUT_MS,
  );

  it(
    '2: is UP if the binding was stopped by an operator',
    async () => {
      await start();
      await done(connector().stop('orders'));
      expect(await ready()).toEqual(UP);
    },
    TIMEOUT_MS,
  );

  it(
    '3: is DEGRADED while an operator has paused the binding, and UP after it is resumed',
    async () => {
      await start();
      await done(connector().pause('orders', { by: 'ann' }));
      expect(await ready()).toEqual(DEGRADED);
      await done(connector().resume('orders'));
      expect(await ready()).toEqual(UP);
    },
    TIMEOUT_MS,
  );

  it(
    '4: answers 503 for DEGRADED with degradedAs: down',
    async () => {
      await start({ endpoints: { degradedAs: 'down' } });
      await done(connector().pause('orders'));
      expect(await ready()).toEqual([503, 'error', 'down', 'DEGRADED']);
    },
    TIMEOUT_MS,
  );

  it(
    '5: is DEGRADED while the circuit is open',
    async () => {
      handle = fail(refused);
      const circuitBreaker = { enabled: true, minimumNumberOfCalls: 2, slidingWindowSize: 2 };
      await start({ properties: { circuitBreaker } });
      await write(3);
      await runtime.advance(5_000);
      expect(await ready()).toEqual(DEGRADED);
    },
    TIMEOUT_MS,
  );

  it(
    '6: is DEGRADED while a handler is stuck',
    async () => {
      handle = () => released;
      await start({ properties: { stuckHandlerMs: 5_000 } });
      await write(1);
      await runtime.advance(20_000);
      expect(await ready()).toEqual(DEGRADED);
    },
    TIMEOUT_MS,
  );

  it(
    '7: is DOWN while a handler exceeds maxPollIntervalMs',
    async () => {
      handle = () => released;
      await start({ properties: { maxPollIntervalMs: 60_000, stuckHandlerMs: 5_000 } });
      await write(1);
      await runtime.advance(90_000);
      expect(await ready()).toEqual(DOWN);
    },
    TIMEOUT_MS,
  );

  it(
    '8: is DEGRADED while a partition waits for a decision',
    async () => {
      handle = fail(new Error('no'));
      const strict = { orderingMode: 'STRICT', strictExhaustion: 'PAUSE_PARTITION' };
      await start({ properties: strict });
      await write(1);
      await runtime.advance(60_000);
      expect(await ready()).toEqual(DEGRADED);
    },
    TIMEOUT_MS,
  );

  it(
    '9: is DOWN while the topic does not exist',
    async () => {
      await start({ topics: ['orders.DLT'] });
      await runtime.advance(15_000);
      expect(await ready()).toEqual(DOWN);
    },
    TIMEOUT_MS,
  );

  it(
    '10: is DOWN while the brokers do not answer, and UP again afterwards',
    async () => {
      await start();
      const outage = broker.faults.unplug({ clientId: 'bus' });
      await runtime.advance(60_000);
      expect(await ready()).toEqual(DOWN);
      outage.lift();
      await runtime.advance(60_000);
      expect(await ready()).toEqual(UP);
    },
    TIMEOUT_MS,
  );

  it(
    '11: is DOWN while failed records cannot be written to their dead-letter topic',
    async () => {
      handle = fail(new NonRetryableException('no'));
      await start({ topics: ['orders'] });
      await write(1);
      await runtime.advance(40_000);
      expect(await ready()).toEqual(DOWN);
    },
    TIMEOUT_MS,
  );

  it(
    '12: is DOWN while the bus drains',
    async () => {
      await start();
      await done(application.get(ShutdownCoordinator, { strict: false }).drain());
      expect(await ready()).toEqual(DOWN);
    },
    TIMEOUT_MS,
  );

  it(
    'has the state DISABLED if the bus is switched off',
    async () => {
      await start({ options: { enabled: false } });
      expect(await ready()).toEqual([200, 'ok', 'up', 'DISABLED']);
    },
    TIMEOUT_MS,
  );
});
