import { Deferred } from '@nest-event-bus/broker/runtime';
import { Injectable } from '@nestjs/common';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import type { TestBus } from '../support/test-bus.spec-support.js';
import { createOrdersTestBus, deadLettersOf } from '../support/failing-orders.spec-support.js';

let testBus: TestBus;
let seen: unknown[];

beforeEach(async () => {
  testBus = await createOrdersTestBus();
  seen = [];
});

afterEach(() => testBus.end());

/** A record has a single call, and no retry topic before the dead-letter topic. */
const once = { retry: { tier0: { maxAttempts: 1 }, tiers: [] } };

describe('A record that is handed back', () => {
  it('is delivered again after its delay, and does not count as failed', async () => {
    @Injectable()
    class Orders {
      @EventHandler('orders')
      handle({ offset }: EventRecord, context: EventContext): void {
        seen.push([Number(offset), testBus.runtime.now() - started]);
        if (seen.length === 1) context.handBack({ delayMs: 7_000 });
      }
    }
    const application = await testBus.startOrders([Orders]);
    const started = testBus.runtime.now();
    await testBus.write('orders', '0', '1');
    expect(seen).toEqual([[0, 0]]);
    expect(testBus.health(application)).toMatchObject({ status: 'UP' });
    await testBus.runtime.advance(6_800);
    expect(seen).toHaveLength(1);
    await testBus.runtime.advance(300);
    expect(seen).toEqual([
      [0, 0],
      [0, 7_000],
      [1, 7_000],
    ]);
  });
});

describe('A failing handler', () => {
  @Injectable()
  class Orders {
    @EventHandler('orders')
    async handle({ value }: EventRecord): Promise<void> {
      await Promise.resolve();
      if (value === '0/1' && !isWorking) throw new Error('not yet');
      seen.push(value);
    }
  }
  let isWorking: boolean;
  beforeEach(() => {
    isWorking = false;
  });

  const writeThreeEach = () =>
    testBus.write(
      'orders',
      ...[0, 1, 2].flatMap((offset) =>
        [0, 1].map((partition) => ({ partition, value: `"${partition}/${offset}"` })),
      ),
    );
  const seenIn = (partition: number) =>
    (seen as string[]).filter((place) => place.startsWith(`${partition}/`));

  it('does not delay the records behind its record, which it handles in the retry', async () => {
    const application = await testBus.startOrders([Orders]);
    await writeThreeEach();
    await testBus.runtime.advance(5_000);
    expect(seenIn(0)).toEqual(['0/0', '0/2']);
    expect(seenIn(1)).toEqual(['1/0', '1/1', '1/2']);
    expect(await testBus.committed('shop', 0)).toBe(3);
    expect(await testBus.committed('shop', 1)).toBe(3);
    expect(testBus.health(application)).toMatchObject({ status: 'UP' });

    isWorking = true;
    await testBus.runtime.advance(10_000);
    expect(seenIn(0)).toEqual(['0/0', '0/2', '0/1']);
    expect(await testBus.committed('shop.retry-1', 0)).toBe(1);
  });

  it('pauses only the partition of its record with STRICT ordering', async () => {
    const application = await testBus.startOrders([Orders], {
      orderingMode: 'STRICT',
      strictExhaustion: 'PAUSE_PARTITION',
    });
    await writeThreeEach();
    await testBus.runtime.advance(120_000);
    expect(seenIn(0)).toEqual(['0/0']);
    expect(seenIn(1)).toEqual(['1/0', '1/1', '1/2']);
    expect(await testBus.committed('shop', 0)).toBe(1);
    expect(await testBus.committed('shop', 1)).toBe(3);
    const { status, bindings } = testBus.health(application);
    expect(status).toBe('DEGRADED');
    expect(bindings[0]?.reasons.join()).toContain('orders-0 waits');

    isWorking = true;
    const place = { topic: 'orders', partition: 0 };
    await testBus.done(application.get(EventBusConnector).decide('orders', place, 'retry'));
    await testBus.runtime.advance(60_000);
    expect(seenIn(0)).toEqual(['0/0', '0/1', '0/2']);
    expect(await testBus.committed('shop', 0)).toBe(3);
    expect(testBus.health(application)).toMatchObject({ status: 'UP' });
  });

  it.each<[string, unknown]>([
    ['a string', 'text'],
    ['undefined', undefined],
    ['null', null],
    ['an object', { code: 1 }],
  ])('fails its record by throwing %s', async (_name, thrown) => {
    @Injectable()
    class Throwing {
      @EventHandler('orders')
      handle(): void {
        throw thrown;
      }
    }
    await testBus.startOrders([Throwing], once);
    await testBus.write('orders', '0');
    await testBus.runtime.advance(1_000);
    expect(await deadLettersOf(testBus)).toEqual([['0', 'exhausted']]);
  });

  it('never ends the process, even with a value that is not JSON', async () => {
    await testBus.startOrders([Orders]);
    await testBus.write('orders', '{"password":"hunter2"', '1');
    await testBus.runtime.advance(1_000);
    expect(seen).toEqual([1]);
    expect(await deadLettersOf(testBus)).toEqual([['{"password":"hunter2"', 'deserialization']]);
    expect([...testBus.log.warnings, ...testBus.log.errors].join()).not.toContain('hunter2');
  });
});

describe('A handler that decides about its record', () => {
  it('completes the record by acknowledge(), even if it throws afterwards', async () => {
    @Injectable()
    class Orders {
      @EventHandler('orders')
      handle({ value }: EventRecord, context: EventContext): void {
        seen.push(value);
        context.acknowledge();
        throw new Error('ignored');
      }
    }
    await testBus.startOrders([Orders]);
    await testBus.write('orders', '1');
    await testBus.runtime.advance(60_000);
    expect(seen).toEqual([1]);
    expect(await testBus.committed()).toBe(1);
    expect(await testBus.records('orders.retry-1')).toEqual([]);
    expect(testBus.log.warnings.join()).toContain('The handler threw after acknowledge()');
  });

  it("must call acknowledge() with ack: 'manual', or the record is delivered again, without counting as failed", async () => {
    @Injectable()
    class Orders {
      @EventHandler('orders')
      handle({ value }: EventRecord, context: EventContext): void {
        seen.push(value);
        if (value !== 2 || seen.length > 5) context.acknowledge();
      }
    }
    const application = await testBus.startOrders([Orders], { ack: 'manual' });
    await testBus.write('orders', '1', '2', '3');
    await testBus.runtime.advance(60_000);
    expect(seen.slice(0, 5)).toEqual([1, 2, 2, 2, 2]);
    expect(seen.slice(-2)).toEqual([2, 3]);
    expect(await testBus.committed()).toBe(3);
    expect(await testBus.records('orders.retry-1')).toEqual([]);
    await testBus.runtime.advance(120_000);
    expect(testBus.health(application)).toMatchObject({ status: 'UP' });
  });

  it('dead-letters the record by deadLetter(), even if it throws afterwards', async () => {
    @Injectable()
    class Orders {
      @EventHandler('orders')
      handle(_record: EventRecord, context: EventContext): void {
        seen.push(context.attempt.call);
        context.deadLetter('no such customer');
        throw new Error('ignored');
      }
    }
    await testBus.startOrders([Orders]);
    await testBus.write('orders', '1');
    await testBus.runtime.advance(60_000);
    expect(seen).toEqual([1]);
    expect(await deadLettersOf(testBus)).toEqual([['1', 'handler']]);
  });
});

describe('A running handler', () => {
  it('gets an abort signal when the bus stops waiting for it', async () => {
    const never = new Deferred();
    @Injectable()
    class Orders {
      @EventHandler('orders')
      async handle(_record: EventRecord, { signal }: EventContext): Promise<void> {
        signal.addEventListener('abort', () => never.reject(new Error('gave up')));
        await never.promise;
      }
    }
    const application = await testBus.startOrders(
      [Orders],
      {},
      { shutdown: { drainTimeoutMs: 5_000 } },
    );
    await testBus.write('orders', '0');
    const closedAt = testBus.runtime.now();
    await testBus.done(application.close());
    expect(testBus.runtime.now() - closedAt).toBeGreaterThanOrEqual(5_000);
    expect(testBus.runtime.now() - closedAt).toBeLessThan(10_000);
    expect(await testBus.committed()).toBe(0);
  });
});
