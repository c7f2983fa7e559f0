import { Deferred } from '@nest-event-bus/broker/runtime';
import { Controller, Inject, Injectable, Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { IsInt } from 'class-validator';
import { z } from 'zod';
import { EventHandler } from '../discovery/event-handler.js';
import { Ctx, Header, Headers, Key, Payload } from '../discovery/parameters.js';
import type { EventContext } from '../model/event-context.js';
import type { EventHeaders, EventRecord } from '../model/event-record.js';
import { EventPublisher } from '../publisher/event-publisher.js';
import { World } from './application.spec-support.js';

let world: World;
let seen: unknown[];

beforeEach(async () => {
  world = new World();
  seen = [];
  await world.topic('orders', 2);
});

afterEach(() => world.end());

const typed = (type: string, value = '{}') => ({
  value,
  headers: [{ key: 'event-type', value: type }],
});

describe('a handler', () => {
  it('in a controller is one as well', async () => {
    @Controller()
    class Orders {
      @EventHandler('orders')
      handle({ value }: EventRecord): void {
        seen.push(value);
      }
    }
    const imports = [world.bus({ bindings: { orders: { topic: 'orders', groupId: 'shop' } } })];
    await world.start({ imports, controllers: [Orders] });
    await world.write('orders', '1');
    expect(seen).toEqual([1]);
  });

  it('that is request-scoped is made for each record, and what it injects knows the record', async () => {
    let made = 0;
    @Injectable({ scope: Scope.REQUEST })
    class PerRecord {
      readonly number = ++made;
    }
    @Injectable()
    class Orders {
      constructor(
        private readonly perRecord: PerRecord,
        @Inject(REQUEST) private readonly request: { record: EventRecord },
      ) {}
      @EventHandler('orders')
      handle({ offset }: EventRecord): void {
        seen.push([this.perRecord.number, offset, this.request.record?.offset]);
      }
    }
    await world.startOrders([Orders, PerRecord]);
    await world.write('orders', '1', '2');
    expect(seen).toEqual([
      [1, 0n, 0n],
      [2, 1n, 1n],
    ]);
    expect(await world.committed()).toBe(2);
  });

  it('takes the type that it names, another the rest', async () => {
    @Injectable()
    class Orders {
      @EventHandler('orders', { type: 'OrderPlaced' })
      placed({ offset }: EventRecord): void {
        seen.push(['placed', offset]);
      }
      @EventHandler('orders')
      rest({ offset }: EventRecord, { eventType }: EventContext): void {
        seen.push([eventType, offset]);
      }
    }
    await world.startOrders([Orders]);
    await world.write('orders', typed('OrderPlaced'), typed('OrderPlacedEvent'), typed('X'), '{}');
    expect(seen).toEqual([
      ['placed', 0n],
      ['placed', 1n],
      ['X', 2n],
      [undefined, 3n],
    ]);
  });

  it('takes a type that is a field of the value, or another header', async () => {
    @Injectable()
    class Orders {
      @EventHandler('orders', { type: 'A' })
      handle({ offset }: EventRecord): void {
        seen.push(offset);
      }
    }
    await world.startOrders([Orders], { typeFrom: '$.meta.type' });
    await world.write('orders', '{"meta":{"type":"B"}}', '{"meta":{"type":"A"}}', typed('A'));
    expect(seen).toEqual([1n]);
    expect(await world.committed()).toBe(3);
  });

  it('gets what the publisher wrote, by its type', async () => {
    @Injectable()
    class Orders {
      @EventHandler('orders', { type: 'OrderPlaced' })
      placed({ value, key, headers }: EventRecord): void {
        seen.push([value, key, headers.get('tenant'), headers.getAll('tag')]);
      }
    }
    const application = await world.startOrders([Orders]);
    const options = { key: 'anna', type: 'OrderPlaced', headers: { tenant: 'a', tag: ['x', 'y'] } };
    const publishing = application.get(EventPublisher).publish('orders', { id: 1 }, options);
    await expect(world.done(publishing)).resolves.toMatchObject({ topic: 'orders', offset: 0n });
    await world.runtime.advance(100);
    expect(seen).toEqual([[{ id: 1 }, 'anna', 'a', ['x', 'y']]]);
  });

  it('gets its parameters by name', async () => {
    @Injectable()
    class Orders {
      @EventHandler('orders')
      handle(
        @Ctx() { binding, dedupKey }: EventContext,
        @Payload() order: unknown,
        @Payload('id') id: number,
        @Key() key: string,
        @Header('tenant') tenant: string,
        @Headers() headers: EventHeaders,
      ): void {
        seen.push(binding, dedupKey, order, id, key, tenant, headers.names());
      }
    }
    await world.startOrders([Orders]);
    const headers = [{ key: 'tenant', value: 'a' }];
    await world.write('orders', { key: 'k', value: '{"id":1}', headers });
    const names = expect.arrayContaining(['tenant', 'x-eventbus-binding-name']) as unknown;
    expect(seen).toEqual(['orders', 'orders-0-0', { id: 1 }, 1, 'k', 'a', names]);
  });

  it.each<[string, unknown]>([
    ['a schema', z.object({ id: z.number() })],
    [
      'a class',
      (() => {
        class Order {
          @IsInt() id!: number;
        }
        return Order;
      })(),
    ],
  ])('gets no payload that does not fit %s', async (_name, payload) => {
    @Injectable()
    class Orders {
      @EventHandler('orders', { payload: payload as z.ZodType })
      handle({ value }: EventRecord): void {
        seen.push(value);
      }
    }
    await world.startOrders([Orders]);
    await world.write('orders', '{"id":1}', '{"id":"secret"}');
    expect(seen).toEqual([{ id: 1 }]);
    expect(await world.committed()).toBe(1);
    expect([...world.said.warnings, ...world.said.errors].join()).not.toContain('secret');
  });
});

describe('records that nobody takes', () => {
  @Injectable()
  class Placed {
    @EventHandler('orders', { type: 'OrderPlaced' })
    handle({ offset }: EventRecord): void {
      seen.push(offset);
    }
  }

  it('are passed by, with one warning per type', async () => {
    await world.startOrders([Placed]);
    await world.write('orders', typed('X'), typed('X'), typed('OrderPlaced'));
    expect(seen).toEqual([2n]);
    expect(await world.committed()).toBe(3);
    const warnings = world.said.warnings.filter((each) => each.includes("type 'X'"));
    expect(warnings).toHaveLength(1);
  });

  it("hold their partition with unknownType: 'fail'", async () => {
    await world.startOrders([Placed], { unknownType: 'fail' });
    await world.write('orders', typed('X'), typed('OrderPlaced'));
    await world.runtime.advance(60_000);
    expect(seen).toEqual([]);
    expect(await world.committed()).toBe(0);
  });
});

describe('a handler of batches', () => {
  @Injectable()
  class Orders {
    @EventHandler.Batch('orders')
    handle(records: readonly EventRecord[], contexts: readonly EventContext[]): void {
      seen.push(records.map(({ offset }) => Number(offset)));
      expect(contexts).toHaveLength(records.length);
    }
  }

  it('gets the records of a slice at once, never more than maxPollRecords', async () => {
    await world.startOrders([Orders], { maxPollRecords: 3, autoStartup: true });
    await world.write('orders', '0', '1', '2', '3', '4', '5', '6');
    expect(seen.flat()).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(Math.max(...(seen as number[][]).map(({ length }) => length))).toBeLessThanOrEqual(3);
    expect((seen as number[][]).some(({ length }) => length > 1)).toBe(true);
    expect(await world.committed()).toBe(7);
  });
});

describe('a record that is handed back', () => {
  it('comes again after its delay, not before, and is no failure', async () => {
    @Injectable()
    class Orders {
      @EventHandler('orders')
      handle({ offset }: EventRecord, context: EventContext): void {
        seen.push([Number(offset), world.runtime.now() - started]);
        if (seen.length === 1) context.handBack({ delayMs: 7_000 });
      }
    }
    const application = await world.startOrders([Orders]);
    const started = world.runtime.now();
    await world.write('orders', '0', '1');
    expect(seen).toEqual([[0, 0]]);
    expect(world.health(application)).toMatchObject({ status: 'UP' });
    await world.runtime.advance(6_800);
    expect(seen).toHaveLength(1);
    await world.runtime.advance(300);
    expect(seen).toEqual([
      [0, 0],
      [0, 7_000],
      [1, 7_000],
    ]);
  });
});

describe('a handler that fails', () => {
  it('holds its own partition only; once it succeeds nothing is missing and the order is kept', async () => {
    let isHealed = false;
    @Injectable()
    class Orders {
      @EventHandler('orders')
      async handle({ partition, offset }: EventRecord): Promise<void> {
        await Promise.resolve();
        if (partition === 0 && offset === 1n && !isHealed) throw new Error('not yet');
        seen.push(`${partition}/${offset}`);
      }
    }
    const application = await world.startOrders([Orders]);
    await world.write(
      'orders',
      ...['0', '1', '2'].flatMap((value) => [
        { partition: 0, value },
        { partition: 1, value },
      ]),
    );
    await world.runtime.advance(120_000);
    expect((seen as string[]).toSorted((one, other) => one.localeCompare(other))).toEqual([
      '0/0',
      '1/0',
      '1/1',
      '1/2',
    ]);
    expect(await world.committed('shop', 0)).toBe(1);
    expect(await world.committed('shop', 1)).toBe(3);
    const [binding] = world.health(application).bindings;
    expect(binding).toMatchObject({
      status: 'DEGRADED',
      reasons: ['eventbus-orders: orders-0 waits (backoff)'],
    });

    isHealed = true;
    await world.runtime.advance(60_000);
    expect(seen.slice(-2)).toEqual(['0/1', '0/2']);
    expect(await world.committed('shop', 0)).toBe(3);
    expect(world.health(application)).toMatchObject({ status: 'UP' });
  });

  it('is called again and again, with pauses that grow', async () => {
    const calls: number[] = [];
    @Injectable()
    class Orders {
      @EventHandler('orders')
      handle(): void {
        calls.push(world.runtime.now());
        throw new Error('never');
      }
    }
    await world.startOrders([Orders], { retry: { tier0: { maxAttempts: 1 } } });
    await world.write('orders', '0');
    await world.runtime.advance(600_000);
    const gaps = calls.slice(1).map((at, index) => at - calls[index]!);
    expect(gaps.length).toBeGreaterThan(10);
    expect(Math.min(...gaps.slice(5))).toBeGreaterThan(gaps[0]!);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(45_000);
  });

  it.each<[string, unknown]>([
    ['a string', 'text'],
    ['undefined', undefined],
    ['null', null],
    ['an object', { code: 1 }],
  ])('by throwing %s has failed', async (_name, thrown) => {
    @Injectable()
    class Orders {
      @EventHandler('orders')
      handle(): void {
        throw thrown;
      }
    }
    await world.startOrders([Orders]);
    await world.write('orders', '0');
    await world.runtime.advance(60_000);
    expect(await world.committed()).toBe(0);
  });

  it('never ends the process, not even by bytes that are no JSON', async () => {
    @Injectable()
    class Orders {
      @EventHandler('orders')
      handle({ value }: EventRecord): void {
        seen.push(value);
      }
    }
    await world.startOrders([Orders]);
    await world.write('orders', '{"password":"hunter2"');
    await world.runtime.advance(60_000);
    expect(await world.committed()).toBe(0);
    await world.write('orders', { partition: 1, value: '1' });
    expect(seen).toEqual([1]);
    expect([...world.said.warnings, ...world.said.errors].join()).not.toContain('hunter2');
  });
});

describe('a tombstone', () => {
  it('is a record with the value null', async () => {
    @Injectable()
    class Orders {
      @EventHandler('orders')
      handle({ key, value }: EventRecord): void {
        seen.push([key, value]);
      }
    }
    await world.startOrders([Orders]);
    await world.write('orders', { key: 'k', value: null });
    expect(seen).toEqual([['k', null]]);
  });
});

describe('a handler that is running', () => {
  it('learns from its signal that the bus gives up waiting for it', async () => {
    const never = new Deferred();
    @Injectable()
    class Orders {
      @EventHandler('orders')
      async handle(_record: EventRecord, { signal }: EventContext): Promise<void> {
        signal.addEventListener('abort', () => never.reject(new Error('gave up')));
        await never.promise;
      }
    }
    const application = await world.startOrders(
      [Orders],
      {},
      { shutdown: { drainTimeoutMs: 5_000 } },
    );
    await world.write('orders', '0');
    const closedAt = world.runtime.now();
    await world.done(application.close());
    expect(world.runtime.now() - closedAt).toBeGreaterThanOrEqual(5_000);
    expect(world.runtime.now() - closedAt).toBeLessThan(10_000);
    expect(await world.committed()).toBe(0);
  });
});
