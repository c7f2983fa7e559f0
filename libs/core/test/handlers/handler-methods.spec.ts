import { Controller, Inject, Injectable, Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { IsInt } from 'class-validator';
import { z } from 'zod';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { Ctx, Header, Headers, Key, Payload } from '../../src/discovery/decorators/parameters.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventHeaders, EventRecord } from '../../src/model/records/event-record.js';
import { EventPublisher } from '../../src/publisher/event-publisher.js';
import type { TestBus } from '../support/test-bus.spec-support.js';
import { createOrdersTestBus, deadLettersOf } from '../support/failing-orders.spec-support.js';

let testBus: TestBus;
let seen: unknown[];

beforeEach(async () => {
  testBus = await createOrdersTestBus();
  seen = [];
});

afterEach(() => testBus.end());

const typed = (type: string, value = '{}') => ({
  value,
  headers: [{ key: 'event-type', value: type }],
});

describe('A handler method', () => {
  it('may be a method of a controller', async () => {
    @Controller()
    class Orders {
      @EventHandler('orders')
      handle({ value }: EventRecord): void {
        seen.push(value);
      }
    }
    const imports = [
      testBus.module({ bindings: { orders: { topic: 'orders', groupId: 'shop' } } }),
    ];
    await testBus.start({ imports, controllers: [Orders] });
    await testBus.write('orders', '1');
    expect(seen).toEqual([1]);
  });

  it('is called on a new instance for each record if it is request-scoped, and its providers see the record', async () => {
    let instances = 0;
    @Injectable({ scope: Scope.REQUEST })
    class PerRecord {
      readonly number = ++instances;
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
    await testBus.startOrders([Orders, PerRecord]);
    await testBus.write('orders', '1', '2');
    expect(seen).toEqual([
      [1, 0n, 0n],
      [2, 1n, 1n],
    ]);
    expect(await testBus.committed()).toBe(2);
  });

  it('receives the records of its type; a handler without a type receives the others', async () => {
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
    await testBus.startOrders([Orders]);
    await testBus.write(
      'orders',
      typed('OrderPlaced'),
      typed('OrderPlacedEvent'),
      typed('X'),
      '{}',
    );
    expect(seen).toEqual([
      ['placed', 0n],
      ['placed', 1n],
      ['X', 2n],
      [undefined, 3n],
    ]);
  });

  it('is chosen by a type in a field of the value or in a header', async () => {
    @Injectable()
    class Orders {
      @EventHandler('orders', { type: 'A' })
      handle({ offset }: EventRecord): void {
        seen.push(offset);
      }
    }
    await testBus.startOrders([Orders], { typeFrom: '$.meta.type' });
    await testBus.write('orders', '{"meta":{"type":"B"}}', '{"meta":{"type":"A"}}', typed('A'));
    expect(seen).toEqual([1n]);
    expect(await testBus.committed()).toBe(3);
  });

  it('receives what the publisher wrote, by its type', async () => {
    @Injectable()
    class Orders {
      @EventHandler('orders', { type: 'OrderPlaced' })
      placed({ value, key, headers }: EventRecord): void {
        seen.push([value, key, headers.get('tenant'), headers.getAll('tag')]);
      }
    }
    const application = await testBus.startOrders([Orders]);
    const options = { key: 'anna', type: 'OrderPlaced', headers: { tenant: 'a', tag: ['x', 'y'] } };
    const publishing = application.get(EventPublisher).publish('orders', { id: 1 }, options);
    await expect(testBus.done(publishing)).resolves.toMatchObject({ topic: 'orders', offset: 0n });
    await testBus.runtime.advance(100);
    expect(seen).toEqual([[{ id: 1 }, 'anna', 'a', ['x', 'y']]]);
  });

  it('receives its parameters by decorators', async () => {
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
    await testBus.startOrders([Orders]);
    const headers = [{ key: 'tenant', value: 'a' }];
    await testBus.write('orders', { key: 'k', value: '{"id":1}', headers });
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
  ])('receives no payload that does not match %s', async (_name, payload) => {
    @Injectable()
    class Orders {
      @EventHandler('orders', { payload: payload as z.ZodType })
      handle({ value }: EventRecord): void {
        seen.push(value);
      }
    }
    await testBus.startOrders([Orders]);
    await testBus.write('orders', '{"id":1}', '{"id":"secret"}');
    expect(seen).toEqual([{ id: 1 }]);
    expect(await deadLettersOf(testBus)).toEqual([['{"id":"secret"}', 'validation']]);
    expect(await testBus.committed()).toBe(2);
    expect([...testBus.log.warnings, ...testBus.log.errors].join()).not.toContain('secret');
  });
});

describe('A record without a handler for its type', () => {
  @Injectable()
  class Placed {
    @EventHandler('orders', { type: 'OrderPlaced' })
    handle({ offset }: EventRecord): void {
      seen.push(offset);
    }
  }

  it('is skipped, with one warning per type', async () => {
    await testBus.startOrders([Placed]);
    await testBus.write('orders', typed('X'), typed('X'), typed('OrderPlaced'));
    expect(seen).toEqual([2n]);
    expect(await testBus.committed()).toBe(3);
    const warnings = testBus.log.warnings.filter((each) => each.includes("type 'X'"));
    expect(warnings).toHaveLength(1);
  });

  it("is dead-lettered with unknownType: 'fail'", async () => {
    await testBus.startOrders([Placed], { unknownType: 'fail' });
    await testBus.write('orders', typed('X'), typed('OrderPlaced'));
    await testBus.runtime.advance(1_000);
    expect(seen).toEqual([1n]);
    expect(await deadLettersOf(testBus)).toEqual([['{}', 'unknown-type']]);
    expect(await testBus.committed()).toBe(2);
  });
});

describe('A batch handler', () => {
  @Injectable()
  class Orders {
    @EventHandler.Batch('orders')
    handle(records: readonly EventRecord[], contexts: readonly EventContext[]): void {
      seen.push(records.map(({ offset }) => Number(offset)));
      expect(contexts).toHaveLength(records.length);
    }
  }

  it('receives the records of a slice in one call, at most maxPollRecords', async () => {
    await testBus.startOrders([Orders], { maxPollRecords: 3, autoStartup: true });
    await testBus.write('orders', '0', '1', '2', '3', '4', '5', '6');
    expect(seen.flat()).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(Math.max(...(seen as number[][]).map(({ length }) => length))).toBeLessThanOrEqual(3);
    expect((seen as number[][]).some(({ length }) => length > 1)).toBe(true);
    expect(await testBus.committed()).toBe(7);
  });
});

describe('A tombstone', () => {
  it('is a record with the value null', async () => {
    @Injectable()
    class Orders {
      @EventHandler('orders')
      handle({ key, value }: EventRecord): void {
        seen.push([key, value]);
      }
    }
    await testBus.startOrders([Orders]);
    await testBus.write('orders', { key: 'k', value: null });
    expect(seen).toEqual([['k', null]]);
  });
});
