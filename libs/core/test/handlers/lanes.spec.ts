import { Deferred } from '@nest-event-bus/broker/runtime';
import { Injectable, UseGuards } from '@nestjs/common';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { SchemaRegistryUnavailableException } from '../../src/errors/schema-registry-errors.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;
let started: number[];
let gates: Map<number, Deferred>;

@Injectable()
class Orders {
  @EventHandler('orders')
  async handle({ offset }: EventRecord): Promise<void> {
    started.push(Number(offset));
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
  testBus = new TestBus();
  started = [];
  gates = new Map();
  await testBus.topic('orders');
});

afterEach(async () => {
  for (const gate of gates.values()) gate.resolve();
  await testBus.end();
});

const keyed = (...keys: readonly (string | null)[]) => keys.map((key) => ({ key, value: '1' }));

async function finishAll(count: number): Promise<void> {
  for (let tries = 0; tries < 100 && (await testBus.committed()) < count; tries++) {
    for (const gate of gates.values()) gate.resolve();
    await testBus.runtime.advance(100);
  }
}

describe('Processing of a partition', () => {
  it("runs one handler at a time with by: 'partition', the default", async () => {
    await testBus.write('orders', ...keyed('a', 'b', 'c'));
    await testBus.startOrders([Orders]);
    await testBus.runtime.advance(1_000);
    expect(started).toEqual([0]);
  });

  it("runs one handler at a time per key with by: 'key'", async () => {
    await testBus.write('orders', ...keyed('a', 'b', 'a', 'c'));
    await testBus.startOrders([Orders], { processing: { by: 'key' } });
    await testBus.runtime.advance(1_000);
    expect(started).toEqual([0, 1, 3]);
    await finishAll(4);
    expect([started, await testBus.committed()]).toEqual([[0, 1, 3, 2], 4]);
  });

  it("runs the handlers of all records at the same time with by: 'none'", async () => {
    await testBus.write('orders', ...keyed('a', 'a', null, null));
    await testBus.startOrders([Orders], { processing: { by: 'none' } });
    await testBus.runtime.advance(1_000);
    expect(started).toEqual([0, 1, 2, 3]);
  });

  it.each([
    [2, 2],
    [undefined, 64],
  ])('runs at most maxConcurrency handlers at a time: %s', async (maxConcurrency, expected) => {
    const keys = Array.from({ length: 80 }, (_, index) => `key ${index}`);
    await testBus.write('orders', ...keyed(...keys));
    await testBus.startOrders([Orders], { processing: { by: 'key', maxConcurrency } });
    await testBus.runtime.advance(2_000);
    expect(started).toHaveLength(expected);
    await finishAll(80);
    expect(started).toHaveLength(80);
  });

  it("is refused with by: 'key' for a batch handler, because it would split the slices", async () => {
    await expect(testBus.startOrders([Batches], { processing: { by: 'key' } })).rejects.toThrow(
      /processing.by: splits the slices of a partition/,
    );
  });
});

describe('A blocked partition', () => {
  let isWorking: boolean;
  beforeEach(() => (isWorking = false));

  const unlessBroken = <T>(value: T, error = new Error('down')): T => {
    if (!isWorking) throw error;
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
    @UseGuards({ canActivate: () => isWorking })
    handle(): void {}
  }

  const store = {
    claim: async () => unlessBroken('new' as const),
    complete: async () => undefined,
    release: async () => undefined,
  };
  const deserialize = (bytes: Buffer) =>
    unlessBroken(bytes, new SchemaRegistryUnavailableException('No registry.'));

  const REFUSED =
    'A guard of Guarded.handle in RootTestModule refused the record. Its partition waits until the guard lets it pass; the record is not dead-lettered.';

  const CAUSES = [
    ['a guard that refuses', Guarded, {}, `: ${REFUSED}`],
    ['an idempotency store that is down', Plain, { idempotency: { store } }, ''],
    [
      'a schema registry that is down',
      Plain,
      { deserializer: { name: 'mine', deserialize } },
      ': No registry.',
    ],
  ] as const;

  describe.each(['partition', 'key', 'none'] as const)('with processing by %s', (by) => {
    it.each(CAUSES)('degrades health until it continues: %s', async (_, provider, more, why) => {
      await testBus.failureTopics();
      await testBus.write('orders', ...keyed('a', 'b'));
      const properties = { processing: { by }, ...more };
      const application = await testBus.startOrders([provider], properties);
      await testBus.runtime.advance(600_000);
      expect(await testBus.committed()).toBe(0);
      expect(testBus.health(application).bindings).toMatchObject([
        { status: 'DEGRADED', reasons: [`eventbus-orders: orders-0 waits (backoff)${why}`] },
      ]);
      isWorking = true;
      await testBus.runtime.advance(60_000);
      expect(await testBus.committed()).toBe(2);
      expect(testBus.health(application).bindings).toMatchObject([{ status: 'UP', reasons: [] }]);
    });
  });
});

describe('commit.strict', () => {
  it.each([
    [false, [0, 1]],
    [undefined, [0, 1]],
    [true, [0]],
  ])('%s decides whether the next record waits for the commit', async (strict, expected) => {
    await testBus.write('orders', '1', '1');
    const fault = testBus.broker.faults.refuse(
      { operation: 'commit' },
      'COORDINATOR_LOAD_IN_PROGRESS',
      { times: Infinity },
    );
    await testBus.startOrders([Orders], { commit: { strict } });
    gates.get(0)?.resolve();
    await testBus.runtime.advance(1_000);
    expect(started).toEqual(expected);
    fault.lift();
  });
});

describe('stuckHandlerMs', () => {
  it.each([
    ['20s', 20_000],
    [undefined, 300_000],
  ])(
    '%s limits how long a handler may run before it is reported as stuck',
    async (stuckHandlerMs, limitMs) => {
      await testBus.failureTopics();
      await testBus.write('orders', '1');
      const application = await testBus.startOrders([Orders], { stuckHandlerMs });
      const { mainContainer } = application.get(ContainerRegistry).require('orders');
      const reports = () => testBus.log.warnings.filter((line) => line.includes('stuck'));
      await testBus.runtime.advance(limitMs - 1_000);
      expect([reports(), mainContainer.status.stuckHandlers]).toEqual([[], 0]);
      await testBus.runtime.advance(1_500);
      expect(reports()).toEqual([expect.stringContaining('"offset":0')]);
      expect(mainContainer.status.stuckHandlers).toBe(1);
      expect(testBus.health(application).bindings[0]).toMatchObject({
        status: 'DEGRADED',
        reasons: ['eventbus-orders: 1 handler(s) run for longer than stuckHandlerMs'],
      });
      await testBus.runtime.advance(limitMs / 2);
      expect(reports()).toHaveLength(1);
    },
  );
});

describe('A handler that still runs after its binding was stopped', () => {
  it('keeps the records of its partition from the restarted binding until it ends', async () => {
    await testBus.write('orders', '1', '2');
    const application = await testBus.startOrders(
      [Orders],
      { rebalance: { drainTimeoutMs: 0 } },
      { shutdown: { drainTimeoutMs: 1_000 } },
    );
    const lifecycle = application.get(LifecycleManager);
    await testBus.done(lifecycle.stop('orders'));
    const first = gates.get(0);
    await testBus.done(lifecycle.start('orders'));
    await testBus.runtime.advance(5_000);
    expect(started).toEqual([0]);
    first?.resolve();
    await testBus.runtime.advance(1_000);
    expect(started).toEqual([0, 0]);
    gates.get(0)?.resolve();
    await finishAll(2);
    expect(started).toEqual([0, 0, 1]);
  });

  it('keeps the records of its partition from a binding that is registered for the same topic and group', async () => {
    await testBus.write('orders', '1');
    const application = await testBus.startOrders(
      [Orders],
      { rebalance: { drainTimeoutMs: 0 } },
      { shutdown: { drainTimeoutMs: 1_000 } },
    );
    const connector = application.get(EventBusConnector);
    await testBus.done(connector.unregister('orders'));
    const again: string[] = [];
    const successor = { topic: 'orders', groupId: 'shop' };
    await testBus.done(
      connector.register('successor', successor, ({ offset }) => void again.push(String(offset))),
    );
    await testBus.runtime.advance(5_000);
    expect(again).toEqual([]);
    gates.get(0)?.resolve();
    await testBus.runtime.advance(1_000);
    expect(again).toEqual(['0']);
  });
});
