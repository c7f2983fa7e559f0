import type { BrokerDriver, ProducerOptions } from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import { Deferred } from '@nest-event-bus/broker/runtime';
import { Injectable } from '@nestjs/common';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { EventPublisher } from '../../src/publisher/event-publisher.js';
import { World } from '../support/application.spec-support.js';

let world: World;
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
  world = new World();
  handled = [];
  gate = undefined;
  await world.topic('orders', 4);
});

afterEach(async () => {
  gate?.resolve();
  await world.end();
});

/** Returns a driver with another way to create consumers or producers. */
function observed<K extends 'consumer' | 'producer'>(
  method: K,
  wrap: (create: BrokerDriver[K]) => BrokerDriver[K],
): BrokerDriver {
  const driver = memory({ broker: world.broker, clientId: 'bus' });
  const create = driver[method].bind(driver) as BrokerDriver[K];
  return Object.assign(Object.create(driver) as BrokerDriver, { [method]: wrap(create) });
}

const orders = { topic: 'orders', groupId: 'shop' };

describe('driver', () => {
  it('reaches the topics of the default cluster', async () => {
    await world.startOrders([Orders]);
    await world.write('orders', '1');
    expect(handled).toEqual([0]);
  });
});

describe('runtime', () => {
  it('is the clock of the application', async () => {
    const application = await world.startOrders([Orders]);
    const { since } = application.get(ContainerRegistry).require('orders');
    expect(Math.abs(since - world.runtime.now())).toBeLessThan(60_000);
  });
});

describe('startup.concurrency', () => {
  it.each([1, 3])('%i limits the sessions that join at the same time', async (concurrency) => {
    const startedAt: number[] = [];
    const driver = observed('consumer', (create) => (options) => {
      const session = create(options);
      const start = session.start.bind(session);
      session.start = (...given) => {
        startedAt.push(world.runtime.monotonic());
        return start(...given);
      };
      return session;
    });
    const bindings = { orders: { ...orders, concurrency: 4, retry: { tiers: [] } } };
    const imports = [world.bus({ driver, startup: { concurrency }, bindings })];
    await world.start({ imports, providers: [Orders] });
    await world.runtime.advance(60_000);
    // A session that waits for its group gives its place to another one after 100 ms.
    const first = startedAt.filter((at) => at - startedAt[0]! < 50);
    expect(first).toHaveLength(concurrency);
    expect(await world.members()).toHaveLength(4);
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
      world.bus({
        driver: undefined,
        clusters: { default: { driver, producer } },
        bindings: { orders },
      }),
    ];
    const application = await world.start({ imports, providers: [Orders] });
    await world.done(application.get(EventPublisher).publish('orders', { value: 1 }));
    expect(created).toContainEqual(expect.objectContaining(producer));
  });
});

describe('groupId', () => {
  it('names the group that commits', async () => {
    await world.startOrders([Orders], { groupId: 'warehouse' });
    await world.write('orders', '1');
    await world.runtime.advance(1_000);
    expect(await world.committed('warehouse')).toBe(1);
  });
});

describe('listenerType', () => {
  it.each([
    ['SINGLE', 1],
    ['BATCH', 0],
  ] as const)('%s commits with each record, or with the slice', async (listenerType, committed) => {
    gate = new Deferred();
    await world.write('orders', '1', '2');
    await world.startOrders([Orders], { listenerType });
    await world.runtime.advance(1_000);
    expect(handled).toEqual([0]);
    expect(await world.committed()).toBe(committed);
  });
});

describe('ack', () => {
  it.each([
    ['auto', 1],
    ['manual', 0],
  ] as const)('%s decides whether a record is done after its handler', async (ack, committed) => {
    await world.write('orders', '1');
    await world.startOrders([Orders], { ack });
    await world.runtime.advance(1_000);
    expect(await world.committed()).toBe(committed);
  });
});
