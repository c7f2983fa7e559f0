import { Deferred } from '@nest-event-bus/broker/runtime';
import { Controller, Inject, Injectable, Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { IsInt } from 'class-validator';
import { z } from 'zod';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { Ctx, Header, Headers, Key, Payload } from '../../src/discovery/decorators/parameters.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventHeaders, EventRecord } from '../../src/model/records/event-record.js';
import { headerText } from '../../src/model/records/header-text.js';
import { EventPublisher } from '../../src/publisher/event-publisher.js';
import { World } from '../support/application.spec-support.js';

let world: World;
let seen: unknown[];

beforeEach(async () => {
  world = new World();
  seen = [];
  await world.topic('orders', 2);
  for (const topic of ['orders.retry-1', 'orders.retry-2', 'orders.retry-3', 'orders.DLT'])
    await world.topic(topic, 2);
});

afterEach(() => world.end());

/** What was given up, and why. */
const deadLetters = async () =>
  (await world.records('orders.DLT')).map(({ value, headers }) => [
    value?.toString() ?? null,
    headerText(headers, 'x-eventbus-dlt-cause'),
  ]);

/** One call, and no retry topic before the dead-letter topic. */
const once = { retry: { tier0: { maxAttempts: 1 }, tiers: [] } };

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
    expect(await deadLetters()).toEqual([['{"id":"secret"}', 'validation']]);
    expect(await world.committed()).toBe(2);
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

  it("are dead-lettered with unknownType: 'fail'", async () => {
    await world.startOrders([Placed], { unknownType: 'fail' });
    await world.write('orders', typed('X'), typed('OrderPlaced'));
    await world.runtime.advance(1_000);
    expect(seen).toEqual([1n]);
    expect(await deadLetters()).toEqual([['{}', 'unknown-type']]);
    expect(await world.committed()).toBe(2);
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
  @Injectable()
  class Orders {
    @EventHandler('orders')
    async handle({ value }: EventRecord): Promise<void> {
      await Promise.resolve();
      if (value === '0/1' && !isHealed) throw new Error('not yet');
      seen.push(value);
    }
  }
  let isHealed: boolean;
  beforeEach(() => {
    isHealed = false;
  });

  const writeThreeEach = () =>
    world.write(
      'orders',
      ...[0, 1, 2].flatMap((offset) =>
        [0, 1].map((partition) => ({ partition, value: `"${partition}/${offset}"` })),
      ),
    );
  const seenIn = (partition: number) =>
    (seen as string[]).filter((place) => place.startsWith(`${partition}/`));

  it('holds nobody up; once it succeeds nothing is missing', async () => {
    const application = await world.startOrders([Orders]);
    await writeThreeEach();
    await world.runtime.advance(5_000);
    expect(seenIn(0)).toEqual(['0/0', '0/2']);
    expect(seenIn(1)).toEqual(['1/0', '1/1', '1/2']);
    expect(await world.committed('shop', 0)).toBe(3);
    expect(await world.committed('shop', 1)).toBe(3);
    expect(world.health(application)).toMatchObject({ status: 'UP' });

    isHealed = true;
    await world.runtime.advance(10_000);
    expect(seenIn(0)).toEqual(['0/0', '0/2', '0/1']);
    expect(await world.committed('shop.retry-1', 0)).toBe(1);
  });

  it('holds its own partition where the order must be kept, and that alone', async () => {
    const application = await world.startOrders([Orders], {
      orderingMode: 'STRICT',
      strictExhaustion: 'PAUSE_PARTITION',
    });
    await writeThreeEach();
    await world.runtime.advance(120_000);
    expect(seenIn(0)).toEqual(['0/0']);
    expect(seenIn(1)).toEqual(['1/0', '1/1', '1/2']);
    expect(await world.committed('shop', 0)).toBe(1);
    expect(await world.committed('shop', 1)).toBe(3);
    const { status, bindings } = world.health(application);
    expect(status).toBe('DEGRADED');
    expect(bindings[0]?.reasons.join()).toContain('orders-0 waits');

    isHealed = true;
    const place = { topic: 'orders', partition: 0 };
    await world.done(application.get(EventBusConnector).decide('orders', place, 'retry'));
    await world.runtime.advance(60_000);
    expect(seenIn(0)).toEqual(['0/0', '0/1', '0/2']);
    expect(await world.committed('shop', 0)).toBe(3);
    expect(world.health(application)).toMatchObject({ status: 'UP' });
  });

  it.each<[string, unknown]>([
    ['a string', 'text'],
    ['undefined', undefined],
    ['null', null],
    ['an object', { code: 1 }],
  ])('by throwing %s has failed', async (_name, thrown) => {
    @Injectable()
    class Throwing {
      @EventHandler('orders')
      handle(): void {
        throw thrown;
      }
    }
    await world.startOrders([Throwing], once);
    await world.write('orders', '0');
    await world.runtime.advance(1_000);
    expect(await deadLetters()).toEqual([['0', 'exhausted']]);
  });

  it('never ends the process, not even by bytes that are no JSON', async () => {
    await world.startOrders([Orders]);
    await world.write('orders', '{"password":"hunter2"', '1');
    await world.runtime.advance(1_000);
    expect(seen).toEqual([1]);
    expect(await deadLetters()).toEqual([['{"password":"hunter2"', 'deserialization']]);
    expect([...world.said.warnings, ...world.said.errors].join()).not.toContain('hunter2');
  });
});

describe('what a handler says of its record', () => {
  it('acknowledge(): it is done, although the handler throws after it', async () => {
    @Injectable()
    class Orders {
      @EventHandler('orders')
      handle({ value }: EventRecord, context: EventContext): void {
        seen.push(value);
        context.acknowledge();
        throw new Error('of no importance');
      }
    }
    await world.startOrders([Orders]);
    await world.write('orders', '1');
    await world.runtime.advance(60_000);
    expect(seen).toEqual([1]);
    expect(await world.committed()).toBe(1);
    expect(await world.records('orders.retry-1')).toEqual([]);
    expect(world.said.warnings.join()).toContain('The handler threw after acknowledge()');
  });

  it("with ack: 'manual' it is done only by that; else it comes again, and is no failure", async () => {
    @Injectable()
    class Orders {
      @EventHandler('orders')
      handle({ value }: EventRecord, context: EventContext): void {
        seen.push(value);
        if (value !== 2 || seen.length > 5) context.acknowledge();
      }
    }
    const application = await world.startOrders([Orders], { ack: 'manual' });
    await world.write('orders', '1', '2', '3');
    await world.runtime.advance(60_000);
    expect(seen.slice(0, 5)).toEqual([1, 2, 2, 2, 2]);
    expect(seen.slice(-2)).toEqual([2, 3]);
    expect(await world.committed()).toBe(3);
    expect(await world.records('orders.retry-1')).toEqual([]);
    expect(world.health(application)).toMatchObject({ status: 'UP' });
  });

  it('deadLetter(): it is dead-lettered, although the handler throws after it', async () => {
    @Injectable()
    class Orders {
      @EventHandler('orders')
      handle(_record: EventRecord, context: EventContext): void {
        seen.push(context.attempt.call);
        context.deadLetter('no such customer');
        throw new Error('of no importance');
      }
    }
    await world.startOrders([Orders]);
    await world.write('orders', '1');
    await world.runtime.advance(60_000);
    expect(seen).toEqual([1]);
    expect(await deadLetters()).toEqual([['1', 'handler']]);
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
