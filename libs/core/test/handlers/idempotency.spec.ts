import { Deferred } from '@nest-event-bus/broker/runtime';
import { Injectable } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import type {
  ClaimAnswer,
  IdempotencyStore,
} from '../../src/model/extension-points/idempotency-store.js';
import { memoryIdempotencyStore } from '../../src/pipeline/idempotency/memory-idempotency-store.js';
import { World } from '../support/application.spec-support.js';

let world: World;
let handled: string[];
let act: () => unknown;
let store: IdempotencyStore;

@Injectable()
class Orders {
  @EventHandler('orders')
  async handle({ partition, offset }: EventRecord): Promise<void> {
    handled.push(`${partition}/${offset}`);
    await act();
  }
}

@Injectable()
class Batches {
  @EventHandler.Batch('orders')
  handle(records: readonly EventRecord[]): void {
    for (const { partition, offset } of records) handled.push(`${partition}/${offset}`);
  }
}

beforeEach(async () => {
  world = new World();
  handled = [];
  act = () => undefined;
  store = memoryIdempotencyStore({ runtime: world.runtime });
  await world.topic('orders', 2);
});

afterEach(() => world.end());

/** Two partitions, so that a second member gets one of them. */
const start = (idempotency: object = {}, provider: new () => object = Orders) =>
  world.startOrders([provider], { idempotency: { store, ...idempotency } });

/** As after a crash between the handler and the commit: what was done is delivered again, to another process. */
const redeliver = async (application: TestingModule, offset = 0): Promise<void> => {
  await world.done(application.close());
  const partition = { topic: 'orders', partition: 0, offset };
  await world.done(world.outside.admin().setGroupOffsets('shop', [partition]));
};

const containerOf = (application: TestingModule) =>
  application.get(ContainerRegistry).require('orders').mainContainer;

const troublesOf = (application: TestingModule) =>
  containerOf(application).status.partitionPauses.map(({ error }) => error?.message);

/** Nobody answers, until somebody says otherwise. */
class HangingStore implements IdempotencyStore {
  isUp = false;
  claims = 0;

  claim(...claim: Parameters<IdempotencyStore['claim']>): ReturnType<IdempotencyStore['claim']> {
    this.claims += 1;
    return this.isUp ? store.claim(...claim) : new Promise<ClaimAnswer>(() => undefined);
  }

  complete(key: string, ttlMs: number): unknown {
    return this.isUp ? store.complete(key, ttlMs) : new Promise(() => undefined);
  }

  release(key: string, owner: string): unknown {
    return this.isUp ? store.release(key, owner) : new Promise(() => undefined);
  }
}

describe('idempotency.store', () => {
  it.each([
    ['of single records', Orders],
    ['of batches', Batches],
  ] as const)(
    'a record that is delivered again is not handed to its handler again: %s',
    async (_kind, provider) => {
      const first = await start({}, provider);
      await world.write('orders', '1', '2');
      expect(handled).toEqual(['0/0', '0/1']);
      await redeliver(first);
      await start({}, provider);
      await world.write('orders', '3');
      expect(handled).toEqual(['0/0', '0/1', '0/2']);
      expect(await world.committed()).toBe(3);
    },
  );

  it('counts what was handled before as discarded', async () => {
    const first = await start();
    await world.write('orders', '1', '2');
    await redeliver(first);
    const second = await start();
    expect(containerOf(second).counts).toMatchObject({ received: 2, discarded: 2, succeeded: 0 });
  });

  it("is 'none' by default, and where a binding says so against the defaults", async () => {
    const said = { defaults: { idempotency: { store } } };
    for (const options of [{}, said]) {
      handled = [];
      const begin = (): Promise<TestingModule> =>
        world.startOrders(
          [Orders],
          options === said ? { idempotency: { store: 'none' } } : {},
          options,
        );
      const first = await begin();
      await world.write('orders', '1');
      const offset = (await world.committed()) - 1;
      await redeliver(first, offset);
      const second = await begin();
      expect(handled).toEqual([`0/${offset}`, `0/${offset}`]);
      await world.done(second.close());
    }
  });

  it('counts for every binding where the defaults name it', async () => {
    const options = { defaults: { idempotency: { store } } };
    const first = await world.startOrders([Orders], {}, options);
    await world.write('orders', '1');
    await redeliver(first);
    await world.startOrders([Orders], {}, options);
    expect(handled).toEqual(['0/0']);
  });
});

describe('idempotency.key', () => {
  const twice = (more: object = {}): Promise<void> =>
    world.write(
      'orders',
      { value: '{"id":7}', headers: [{ key: 'message-id', value: 'm-7' }], ...more },
      { value: '{"id":7}', headers: [{ key: 'message-id', value: 'm-7' }], ...more },
    );

  it('is the position by default: what its producer sent twice is handled twice', async () => {
    await start();
    await twice();
    expect(handled).toEqual(['0/0', '0/1']);
  });

  it.each<[string, object]>([
    ['a header', { key: { header: 'message-id' } }],
    ['a function', { key: ({ value }: EventRecord<{ id: number }>) => `${value.id}` }],
  ])('%s also tells what its producer sent twice', async (_what, given) => {
    await start(given);
    await twice();
    await world.runtime.advance(5_000);
    expect(handled).toEqual(['0/0']);
    expect(await world.committed()).toBe(2);
  });
});

describe('New events with the headers of one that was retried, in the same topic', () => {
  @Injectable()
  class FollowedUp {
    @EventHandler('orders')
    async handle({ value }: EventRecord<string>, { raw }: EventContext): Promise<void> {
      handled.push(value);
      if (value !== 'reserve') return;
      if (handled.length === 1) throw new Error('not yet');
      const followUps = ['"charge"', '"ship"'].map((each) => ({
        topic: 'orders',
        partition: 0,
        value: each,
        headers: raw.headers,
      }));
      await world.outside.producer({ lingerMs: 0 }).send(followUps);
    }
  }

  it('are handled, each of them', async () => {
    await world.topic('orders.retry-1');
    await world.startOrders([FollowedUp], {
      idempotency: { store },
      retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000, maxAttempts: 2 }] },
    });
    await world.write('orders', '"reserve"');
    await world.runtime.advance(10_000);
    expect(handled).toEqual(['reserve', 'reserve', 'charge', 'ship']);
    expect(await world.committed()).toBe(3);
  });
});

describe('idempotency.leaseMs', () => {
  it('is how long a record waits whose process has died over it', async () => {
    act = () => new Promise(() => undefined);
    const first = await world.startOrders(
      [Orders],
      { idempotency: { store, leaseMs: '2m' } },
      { shutdown: { drainTimeoutMs: 1_000 } },
    );
    await world.write('orders', '1');
    expect(handled).toEqual(['0/0']);
    await world.done(first.close());
    act = () => undefined;
    await start({ leaseMs: '2m' });
    await world.runtime.advance(90_000);
    expect(handled).toEqual(['0/0']);
    expect(await world.committed()).toBe(0);
    await world.runtime.advance(40_000);
    expect(handled).toEqual(['0/0', '0/0']);
    expect(await world.committed()).toBe(1);
  });
});

describe('idempotency.ttlMs', () => {
  it('is how long a record that is done is remembered', async () => {
    const first = await start({ ttlMs: '1h' });
    await world.write('orders', '1');
    await redeliver(first);
    const second = await start({ ttlMs: '1h' });
    expect(handled).toEqual(['0/0']);
    await redeliver(second);
    await world.runtime.advance(3_600_000);
    await start({ ttlMs: '1h' });
    expect(handled).toEqual(['0/0', '0/0']);
  });
});

describe('idempotency.timeoutMs', () => {
  it.each([
    ['5 s by default', {}, 5_000],
    ['as long as it says', { timeoutMs: '20s' }, 20_000],
  ])('is how long an answer of the store is waited for: %s', async (_what, given, expected) => {
    const hanging = new HangingStore();
    const application = await start({ store: hanging, ...given });
    await world.write('orders', '1');
    await world.runtime.advance(expected - 200);
    expect(troublesOf(application)).toEqual([]);
    await world.runtime.advance(200);
    expect(troublesOf(application)).toEqual([
      expect.stringContaining(`no answer within ${expected} ms`),
    ]);
    hanging.isUp = true;
    await world.runtime.advance(60_000);
    expect(handled).toEqual(['0/0']);
  });
});

describe('idempotency.leaseMs', () => {
  const start = (provider: new () => object) =>
    world.startOrders([provider], {
      maxPollRecords: 50,
      expectedProcessingMs: 2_000,
      idempotency: { store },
    });

  it('must outlast a whole slice where one call of a handler takes it', async () => {
    await expect(start(Batches)).rejects.toThrow(
      'a slice of 50 records may take, since all of them are claimed before the handler is called (100000 ms)',
    );
  });

  it('must outlast one record where they are claimed one by one', async () => {
    await expect(start(Orders)).resolves.toBeDefined();
  });
});

describe('idempotency.onStoreFailure', () => {
  it("'fail' lets the record wait: it is not handled, not skipped, not routed, and goes on by itself", async () => {
    const hanging = new HangingStore();
    await start({ store: hanging });
    await world.write('orders', '1', '2');
    await world.runtime.advance(300_000);
    expect(handled).toEqual([]);
    expect(await world.committed()).toBe(0);
    expect(hanging.claims).toBeGreaterThan(5);
    hanging.isUp = true;
    await world.runtime.advance(60_000);
    expect(handled).toEqual(['0/0', '0/1']);
    expect(await world.committed()).toBe(2);
    expect(await world.topicNames()).toEqual(['orders']);
  });

  it("'process' handles it all the same", async () => {
    await start({ store: new HangingStore(), onStoreFailure: 'process', timeoutMs: 100 });
    await world.write('orders', '1');
    await world.runtime.advance(1_000);
    expect(handled).toEqual(['0/0']);
    expect(await world.committed()).toBe(1);
    expect(world.said.warnings.join()).toContain('some may be handled twice');
  });
});

describe('two consumers that get one record at the same time', () => {
  it('do not both run it, and it is not lost', async () => {
    const gate = new Deferred();
    act = () => gate.promise;
    const drain = { rebalance: { drainTimeoutMs: 1_000 }, idempotency: { store } };
    await world.startOrders([Orders], drain);
    await world.write('orders', { partition: 0, value: '1' }, { partition: 1, value: '1' });
    expect(handled).toHaveLength(2);
    // One of the two partitions moves while its handler goes on.
    await world.startOrders([Orders], drain);
    await world.runtime.advance(20_000);
    expect(handled).toHaveLength(2);
    gate.resolve();
    await world.runtime.advance(20_000);
    expect(handled.toSorted()).toEqual(['0/0', '1/0']);
    expect(await world.committed('shop', 0)).toBe(1);
    expect(await world.committed('shop', 1)).toBe(1);
  });
});
