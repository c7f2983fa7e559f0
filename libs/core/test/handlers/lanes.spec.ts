import { Deferred } from '@nest-event-bus/broker/runtime';
import { Injectable, UseGuards } from '@nestjs/common';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { SchemaRegistryUnavailableException } from '../../src/errors/schema-registry-errors.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { World } from '../support/application.spec-support.js';

let world: World;
let begun: number[];
let gates: Map<number, Deferred>;

@Injectable()
class Orders {
  @EventHandler('orders')
  async handle({ offset }: EventRecord): Promise<void> {
    begun.push(Number(offset));
    const gate = new Deferred();
    gates.set(Number(offset), gate);
    await gate.promise;
  }
}

@Injectable()
class Batches {
  @EventHandler.Batch('orders')
  handle(): void {}
}

beforeEach(async () => {
  world = new World();
  begun = [];
  gates = new Map();
  await world.topic('orders');
});

afterEach(async () => {
  for (const gate of gates.values()) gate.resolve();
  await world.end();
});

const keyed = (...keys: readonly (string | null)[]) => keys.map((key) => ({ key, value: '1' }));

async function endAllOf(count: number): Promise<void> {
  for (let tries = 0; tries < 100 && (await world.committed()) < count; tries++) {
    for (const gate of gates.values()) gate.resolve();
    await world.runtime.advance(100);
  }
}

describe('processing', () => {
  it('by partition, as is the default, one record is at work at a time', async () => {
    await world.write('orders', ...keyed('a', 'b', 'c'));
    await world.startOrders([Orders]);
    await world.runtime.advance(1_000);
    expect(begun).toEqual([0]);
  });

  it('by key, there is one of each key', async () => {
    await world.write('orders', ...keyed('a', 'b', 'a', 'c'));
    await world.startOrders([Orders], { processing: { by: 'key' } });
    await world.runtime.advance(1_000);
    expect(begun).toEqual([0, 1, 3]);
    await endAllOf(4);
    expect([begun, await world.committed()]).toEqual([[0, 1, 3, 2], 4]);
  });

  it('by none, all of them', async () => {
    await world.write('orders', ...keyed('a', 'a', null, null));
    await world.startOrders([Orders], { processing: { by: 'none' } });
    await world.runtime.advance(1_000);
    expect(begun).toEqual([0, 1, 2, 3]);
  });

  it.each([
    [2, 2],
    [undefined, 64],
  ])('has no more than maxConcurrency: %s', async (maxConcurrency, expected) => {
    const keys = Array.from({ length: 80 }, (_, index) => `key ${index}`);
    await world.write('orders', ...keyed(...keys));
    await world.startOrders([Orders], { processing: { by: 'key', maxConcurrency } });
    await world.runtime.advance(2_000);
    expect(begun).toHaveLength(expected);
    await endAllOf(80);
    expect(begun).toHaveLength(80);
  });

  it('does not take the slices of a batch handler apart', async () => {
    await expect(world.startOrders([Batches], { processing: { by: 'key' } })).rejects.toThrow(
      /processing.by: takes slices of a partition apart/,
    );
  });
});

describe('a partition that gets nowhere', () => {
  let isHealed: boolean;
  beforeEach(() => (isHealed = false));

  const unlessHealed = <T>(value: T, error = new Error('down')): T => {
    if (!isHealed) throw error;
    return value;
  };

  @Injectable()
  class Plain {
    @EventHandler('orders')
    handle(): void {}
  }

  @Injectable()
  class Guarded {
    @EventHandler('orders')
    @UseGuards({ canActivate: () => isHealed })
    handle(): void {}
  }

  const store = {
    claim: async () => unlessHealed('new' as const),
    complete: async () => undefined,
    release: async () => undefined,
  };
  const deserialize = (bytes: Buffer) =>
    unlessHealed(bytes, new SchemaRegistryUnavailableException('No registry.'));

  const CAUSES = [
    ['a guard that refuses', Guarded, {}, ''],
    ['an idempotency store that is down', Plain, { idempotency: { store } }, ''],
    [
      'a schema registry that is down',
      Plain,
      { deserializer: { name: 'mine', deserialize } },
      ': No registry.',
    ],
  ] as const;

  describe.each(['partition', 'key', 'none'] as const)('by %s', (by) => {
    it.each(CAUSES)('shows in health, until it goes on: %s', async (_, provider, more, why) => {
      await world.write('orders', ...keyed('a', 'b'));
      const properties = { processing: { by }, ...more };
      const application = await world.startOrders([provider], properties);
      await world.runtime.advance(600_000);
      expect(await world.committed()).toBe(0);
      expect(world.health(application).bindings).toMatchObject([
        { status: 'DEGRADED', reasons: [`eventbus-orders: orders-0 waits (backoff)${why}`] },
      ]);
      isHealed = true;
      await world.runtime.advance(60_000);
      expect(await world.committed()).toBe(2);
      expect(world.health(application).bindings).toMatchObject([{ status: 'UP', reasons: [] }]);
    });
  });
});

describe('commit.strict', () => {
  it.each([
    [false, [0, 1]],
    [undefined, [0, 1]],
    [true, [0]],
  ])('%s: what the next record waits for', async (strict, expected) => {
    await world.write('orders', '1', '1');
    const fault = world.broker.faults.refuse(
      { operation: 'commit' },
      'COORDINATOR_LOAD_IN_PROGRESS',
      { times: Infinity },
    );
    await world.startOrders([Orders], { commit: { strict } });
    gates.get(0)?.resolve();
    await world.runtime.advance(1_000);
    expect(begun).toEqual(expected);
    fault.lift();
  });
});

describe('stuckHandlerMs', () => {
  it.each([
    ['20s', 20_000],
    [undefined, 300_000],
  ])('%s: so long a handler may run without being reported', async (stuckHandlerMs, limitMs) => {
    await world.write('orders', '1');
    const application = await world.startOrders([Orders], { stuckHandlerMs });
    const { mainContainer } = application.get(ContainerRegistry).require('orders');
    const reports = () => world.said.warnings.filter((line) => line.includes('stuck'));
    await world.runtime.advance(limitMs - 1_000);
    expect([reports(), mainContainer.status.stuckHandlers]).toEqual([[], 0]);
    await world.runtime.advance(1_500);
    expect(reports()).toEqual([expect.stringContaining('"offset":0')]);
    expect(mainContainer.status.stuckHandlers).toBe(1);
    expect(world.health(application).bindings[0]).toMatchObject({
      status: 'DEGRADED',
      reasons: ['eventbus-orders: 1 handler(s) run for longer than stuckHandlerMs'],
    });
    await world.runtime.advance(limitMs / 2);
    expect(reports()).toHaveLength(1);
  });
});

describe('a handler that outlives its binding', () => {
  it('keeps the records of its partition from the next start, until it ends', async () => {
    await world.write('orders', '1', '2');
    const application = await world.startOrders(
      [Orders],
      { rebalance: { drainTimeoutMs: 0 } },
      { shutdown: { drainTimeoutMs: 1_000 } },
    );
    const lifecycle = application.get(LifecycleManager);
    await world.done(lifecycle.stop('orders'));
    const first = gates.get(0);
    await world.done(lifecycle.start('orders'));
    await world.runtime.advance(5_000);
    expect(begun).toEqual([0]);
    first?.resolve();
    await world.runtime.advance(1_000);
    expect(begun).toEqual([0, 0]);
    gates.get(0)?.resolve();
    await endAllOf(2);
    expect(begun).toEqual([0, 0, 1]);
  });

  it('keeps them from a binding, too, that is registered in its place', async () => {
    await world.write('orders', '1');
    const application = await world.startOrders(
      [Orders],
      { rebalance: { drainTimeoutMs: 0 } },
      { shutdown: { drainTimeoutMs: 1_000 } },
    );
    const connector = application.get(EventBusConnector);
    await world.done(connector.unregister('orders'));
    const again: string[] = [];
    const successor = { topic: 'orders', groupId: 'shop' };
    await world.done(
      connector.register('successor', successor, ({ offset }) => void again.push(String(offset))),
    );
    await world.runtime.advance(5_000);
    expect(again).toEqual([]);
    gates.get(0)?.resolve();
    await world.runtime.advance(1_000);
    expect(again).toEqual(['0']);
  });
});
