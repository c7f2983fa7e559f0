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
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;
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
  testBus = new TestBus();
  handled = [];
  act = () => undefined;
  store = memoryIdempotencyStore({ runtime: testBus.runtime });
  await testBus.topic('orders', 2);
});

afterEach(() => testBus.end());

/** Starts an application that shares the two partitions with other members. */
const start = (idempotency: object = {}, provider: new () => object = Orders) =>
  testBus.startOrders([provider], { idempotency: { store, ...idempotency } });

/** Repeats the records from this offset in a new process, as after a crash between the handler and the commit. */
const redeliver = async (application: TestingModule, offset = 0): Promise<void> => {
  await testBus.done(application.close());
  const partition = { topic: 'orders', partition: 0, offset };
  await testBus.done(testBus.outside.admin().setGroupOffsets('shop', [partition]));
};

const containerOf = (application: TestingModule) =>
  application.get(ContainerRegistry).require('orders').mainContainer;

const pauseErrorsOf = (application: TestingModule) =>
  containerOf(application).status.partitionPauses.map(({ error }) => error?.message);

/** Answers no call until isUp is set. */
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
    ['record handler', Orders],
    ['batch handler', Batches],
  ] as const)(
    'skips the handler for a record that is delivered again: %s',
    async (_kind, provider) => {
      const first = await start({}, provider);
      await testBus.write('orders', '1', '2');
      expect(handled).toEqual(['0/0', '0/1']);
      await redeliver(first);
      await start({}, provider);
      await testBus.write('orders', '3');
      expect(handled).toEqual(['0/0', '0/1', '0/2']);
      expect(await testBus.committed()).toBe(3);
    },
  );

  it('counts records that were handled before as discarded', async () => {
    const first = await start();
    await testBus.write('orders', '1', '2');
    await redeliver(first);
    const second = await start();
    expect(containerOf(second).counts).toMatchObject({ received: 2, discarded: 2, succeeded: 0 });
  });

  it("is 'none' by default, and 'none' in a binding overrides the defaults", async () => {
    const fromDefaults = { defaults: { idempotency: { store } } };
    for (const options of [{}, fromDefaults]) {
      handled = [];
      const begin = (): Promise<TestingModule> =>
        testBus.startOrders(
          [Orders],
          options === fromDefaults ? { idempotency: { store: 'none' } } : {},
          options,
        );
      const first = await begin();
      await testBus.write('orders', '1');
      const offset = (await testBus.committed()) - 1;
      await redeliver(first, offset);
      const second = await begin();
      expect(handled).toEqual([`0/${offset}`, `0/${offset}`]);
      await testBus.done(second.close());
    }
  });

  it('applies to all bindings if the defaults set it', async () => {
    const options = { defaults: { idempotency: { store } } };
    const first = await testBus.startOrders([Orders], {}, options);
    await testBus.write('orders', '1');
    await redeliver(first);
    await testBus.startOrders([Orders], {}, options);
    expect(handled).toEqual(['0/0']);
  });
});

describe('idempotency.key', () => {
  const twice = (more: object = {}): Promise<void> =>
    testBus.write(
      'orders',
      { value: '{"id":7}', headers: [{ key: 'message-id', value: 'm-7' }], ...more },
      { value: '{"id":7}', headers: [{ key: 'message-id', value: 'm-7' }], ...more },
    );

  it('is the position of the record by default, so records that were sent twice are handled twice', async () => {
    await start();
    await twice();
    expect(handled).toEqual(['0/0', '0/1']);
  });

  it.each<[string, object]>([
    ['a header', { key: { header: 'message-id' } }],
    ['a function', { key: ({ value }: EventRecord<{ id: number }>) => `${value.id}` }],
  ])('may be %s, which detects records that were sent twice', async (_what, given) => {
    await start(given);
    await twice();
    await testBus.runtime.advance(5_000);
    expect(handled).toEqual(['0/0']);
    expect(await testBus.committed()).toBe(2);
  });
});

describe('New events that copy the headers of a retried record', () => {
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
      await testBus.outside.producer({ lingerMs: 0 }).send(followUps);
    }
  }

  it('are all handled', async () => {
    await testBus.topic('orders.retry-1');
    await testBus.startOrders([FollowedUp], {
      idempotency: { store },
      retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000, maxAttempts: 2 }] },
    });
    await testBus.write('orders', '"reserve"');
    await testBus.runtime.advance(10_000);
    expect(handled).toEqual(['reserve', 'reserve', 'charge', 'ship']);
    expect(await testBus.committed()).toBe(3);
  });
});

describe('idempotency.leaseMs', () => {
  it('limits how long a record waits if the process that claimed it has died', async () => {
    act = () => new Promise(() => undefined);
    const first = await testBus.startOrders(
      [Orders],
      { idempotency: { store, leaseMs: '2m' } },
      { shutdown: { drainTimeoutMs: 1_000 } },
    );
    await testBus.write('orders', '1');
    expect(handled).toEqual(['0/0']);
    await testBus.done(first.close());
    act = () => undefined;
    await start({ leaseMs: '2m' });
    await testBus.runtime.advance(90_000);
    expect(handled).toEqual(['0/0']);
    expect(await testBus.committed()).toBe(0);
    await testBus.runtime.advance(40_000);
    expect(handled).toEqual(['0/0', '0/0']);
    expect(await testBus.committed()).toBe(1);
  });
});

describe('idempotency.ttlMs', () => {
  it('limits how long a completed record is remembered', async () => {
    const first = await start({ ttlMs: '1h' });
    await testBus.write('orders', '1');
    await redeliver(first);
    const second = await start({ ttlMs: '1h' });
    expect(handled).toEqual(['0/0']);
    await redeliver(second);
    await testBus.runtime.advance(3_600_000);
    await start({ ttlMs: '1h' });
    expect(handled).toEqual(['0/0', '0/0']);
  });
});

describe('idempotency.timeoutMs', () => {
  it.each([
    ['5 s is the default', {}, 5_000],
    ['20 s is configured', { timeoutMs: '20s' }, 20_000],
  ])('limits how long an answer of the store is awaited: %s', async (_what, given, expected) => {
    const hanging = new HangingStore();
    const application = await start({ store: hanging, ...given });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(expected - 200);
    expect(pauseErrorsOf(application)).toEqual([]);
    await testBus.runtime.advance(200);
    expect(pauseErrorsOf(application)).toEqual([
      expect.stringContaining(`no answer within ${expected} ms`),
    ]);
    hanging.isUp = true;
    await testBus.runtime.advance(60_000);
    expect(handled).toEqual(['0/0']);
  });
});

describe('Validation of idempotency.leaseMs', () => {
  const start = (provider: new () => object) =>
    testBus.startOrders([provider], {
      maxPollRecords: 50,
      expectedProcessingMs: 2_000,
      idempotency: { store },
    });

  it('requires the time of a whole slice for a batch handler', async () => {
    await expect(start(Batches)).rejects.toThrow(
      'a slice of 50 records may take, since all of them are claimed before the handler is called (100000 ms)',
    );
  });

  it('requires the time of one record for a record handler', async () => {
    await expect(start(Orders)).resolves.toBeDefined();
  });
});

describe('idempotency.onStoreFailure', () => {
  it("'fail' keeps the record waiting (not handled, skipped or routed) until the store answers", async () => {
    const hanging = new HangingStore();
    await start({ store: hanging });
    await testBus.write('orders', '1', '2');
    await testBus.runtime.advance(300_000);
    expect(handled).toEqual([]);
    expect(await testBus.committed()).toBe(0);
    expect(hanging.claims).toBeGreaterThan(5);
    hanging.isUp = true;
    await testBus.runtime.advance(60_000);
    expect(handled).toEqual(['0/0', '0/1']);
    expect(await testBus.committed()).toBe(2);
    expect(await testBus.topicNames()).toEqual(['orders']);
  });

  it("'process' calls the handler without the store", async () => {
    await start({ store: new HangingStore(), onStoreFailure: 'process', timeoutMs: 100 });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(1_000);
    expect(handled).toEqual(['0/0']);
    expect(await testBus.committed()).toBe(1);
    expect(testBus.log.warnings.join()).toContain('some may be handled twice');
  });
});

describe('Two consumers with the same record at the same time', () => {
  it('handle it once, and do not lose it', async () => {
    const gate = new Deferred();
    act = () => gate.promise;
    const drain = { rebalance: { drainTimeoutMs: 1_000 }, idempotency: { store } };
    await testBus.startOrders([Orders], drain);
    await testBus.write('orders', { partition: 0, value: '1' }, { partition: 1, value: '1' });
    expect(handled).toHaveLength(2);
    // The new member takes over one of the two partitions while its handler is still running.
    await testBus.startOrders([Orders], drain);
    await testBus.runtime.advance(20_000);
    expect(handled).toHaveLength(2);
    gate.resolve();
    await testBus.runtime.advance(20_000);
    expect(handled.toSorted()).toEqual(['0/0', '1/0']);
    expect(await testBus.committed('shop', 0)).toBe(1);
    expect(await testBus.committed('shop', 1)).toBe(1);
  });
});
