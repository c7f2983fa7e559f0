import type { BrokerDriver, ProducerOptions } from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import { Deferred, sleep } from '@nest-event-bus/broker/runtime';
import { Injectable } from '@nestjs/common';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { EventPublisher } from '../../src/publisher/event-publisher.js';
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;
let handled: number[];
let gate: Deferred | undefined;

@Injectable()
class Orders {
  @EventHandler('orders')
  async onOrder({ offset }: EventRecord): Promise<void> {
    if (Number(offset) === 1) await gate?.promise;
    handled.push(Number(offset));
  }
}

beforeEach(async () => {
  testBus = new TestBus();
  handled = [];
  gate = undefined;
  await testBus.topic('orders', 4);
});

afterEach(async () => {
  gate?.resolve();
  await testBus.end();
});

/** Returns a driver with another way to create consumers or producers. */
function observed<K extends 'consumer' | 'producer'>(
  method: K,
  wrap: (create: BrokerDriver[K]) => BrokerDriver[K],
): BrokerDriver {
  const driver = memory({ broker: testBus.broker, clientId: 'bus' });
  const create = driver[method].bind(driver) as BrokerDriver[K];
  return Object.assign(Object.create(driver) as BrokerDriver, { [method]: wrap(create) });
}

const orders = { topic: 'orders', groupId: 'shop' };

describe('driver', () => {
  it('reaches the topics of the default cluster', async () => {
    await testBus.startOrders([Orders]);
    await testBus.write('orders', '1');
    expect(handled).toEqual([0]);
  });
});

describe('runtime', () => {
  it('is the clock of the application', async () => {
    const application = await testBus.startOrders([Orders]);
    const { since } = application.get(ContainerRegistry).require('orders');
    expect(Math.abs(since - testBus.runtime.now())).toBeLessThan(60_000);
  });
});

describe('startup.concurrency', () => {
  it.each([1, 3])('%i limits the sessions that join at the same time', async (concurrency) => {
    let joining = 0;
    let most = 0;
    const driver = observed('consumer', (create) => (options) => {
      const session = create(options);
      const start = session.start.bind(session);
      session.start = async (...given) => {
        most = Math.max(most, ++joining);
        // A session keeps its place for 100 ms at the longest.
        await sleep(testBus.runtime, 50);
        joining--;
        await start(...given);
      };
      return session;
    });
    const bindings = { orders: { ...orders, concurrency: 4, retry: { tiers: [] } } };
    const imports = [testBus.module({ driver, startup: { concurrency }, bindings })];
    await testBus.start({ imports, providers: [Orders] });
    await testBus.runtime.advance(60_000);
    expect(most).toBe(concurrency);
    expect(await testBus.members()).toHaveLength(4);
  });
});

describe('clusters.*.producer', () => {
  it.each<ProducerOptions>([
    { compression: 'gzip' },
    { lingerMs: 77 },
    { batchBytes: 7_777 },
    { bufferBytes: 7_777_777 },
    { deliveryTimeoutMs: 7_777 },
  ])('%j sets up the producer of EventPublisher', async (producer) => {
    const created: (ProducerOptions | undefined)[] = [];
    const driver = observed('producer', (create) => (options) => {
      created.push(options);
      return create(options);
    });
    const imports = [
      testBus.module({
        driver: undefined,
        clusters: { default: { driver, producer } },
        bindings: { orders },
      }),
    ];
    const application = await testBus.start({ imports, providers: [Orders] });
    await testBus.done(application.get(EventPublisher).publish('orders', { value: 1 }));
    expect(created).toContainEqual(expect.objectContaining(producer));
  });
});

describe('groupId', () => {
  it('names the group that commits', async () => {
    await testBus.startOrders([Orders], { groupId: 'warehouse' });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(1_000);
    expect(await testBus.committed('warehouse')).toBe(1);
  });
});

describe('listenerType', () => {
  it.each([
    ['SINGLE', 1],
    ['BATCH', 0],
  ] as const)('%s commits with each record, or with the slice', async (listenerType, committed) => {
    gate = new Deferred();
    await testBus.write('orders', '1', '2');
    await testBus.startOrders([Orders], { listenerType });
    await testBus.runtime.advance(1_000);
    expect(handled).toEqual([0]);
    expect(await testBus.committed()).toBe(committed);
  });
});

describe('ack', () => {
  it.each([
    ['auto', 1],
    ['manual', 0],
  ] as const)('%s decides whether a record is done after its handler', async (ack, committed) => {
    await testBus.write('orders', '1');
    await testBus.startOrders([Orders], { ack });
    await testBus.runtime.advance(1_000);
    expect(await testBus.committed()).toBe(committed);
  });
});

describe('staticMembership and groupInstanceId', () => {
  it('give each member of the group its id', async () => {
    const ids: (string | undefined)[] = [];
    const driver = observed('consumer', (create) => (options) => {
      ids.push(options.groupInstanceId);
      return create(options);
    });
    const identity = { staticMembership: true, groupInstanceId: 'shop-{index}' };
    const binding = { ...orders, ...identity, concurrency: 2, retry: { tiers: [] } };
    const imports = [testBus.module({ driver, bindings: { orders: binding } })];
    await testBus.start({ imports, providers: [Orders] });
    expect(ids).toEqual(['shop-0', 'shop-1']);
    expect(await testBus.members()).toHaveLength(2);
  });
});
