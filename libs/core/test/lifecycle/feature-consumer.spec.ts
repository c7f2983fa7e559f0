import { Deferred } from '@nest-event-bus/broker/runtime';
import {
  Inject,
  Injectable,
  Module,
  Scope,
  type ModuleMetadata,
  type OnModuleDestroy,
  type Type,
} from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { IsInt } from 'class-validator';
import { of, tap } from 'rxjs';
import { z } from 'zod';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import type {
  MessageHandler,
  MessageMetadata,
} from '../../src/model/extension-points/handler-interfaces.js';
import { World } from '../support/application.spec-support.js';
import { EventBusModule } from '../../src/nest/event-bus.module.js';
import type { FeatureConsumer } from '../../src/nest/feature-consumer.js';

let world: World;
let seen: unknown[];

beforeEach(async () => {
  world = new World();
  seen = [];
  await world.topic('orders', 2);
});

afterEach(() => world.end());

class OrderMessage {
  @IsInt() id!: number;
}

@Injectable()
class OrderMessageHandler implements MessageHandler<OrderMessage> {
  handle(message: OrderMessage): void {
    seen.push(message);
  }
}

const orders = { orders: { topic: 'orders', groupId: 'shop' } };
const consumer: FeatureConsumer = {
  binding: 'orders',
  message: OrderMessage,
  handler: OrderMessageHandler,
};

const typed = (type: string, value = '{}') => ({
  value,
  headers: [{ key: 'event-type', value: type }],
});

const consumerOf = (handler: Type<MessageHandler<never>>): FeatureConsumer => ({
  binding: 'orders',
  handler,
});

/** A feature beside its root, which may have bindings and providers of its own. */
const start = (
  feature: Parameters<typeof EventBusModule.forFeature>[0],
  providers: ModuleMetadata['providers'] = [],
) => world.start({ imports: [world.bus({}), EventBusModule.forFeature(feature)], providers });

function moduleOf(metadata: ModuleMetadata): Type {
  class Some {}
  Module(metadata)(Some);
  return Some;
}

describe('a consumer of a feature', () => {
  it('handles the messages of its binding, each an instance of its class', async () => {
    await start({ bindings: orders, consumers: [consumer] });
    await world.write('orders', '{"id":1}', '{"id":2}');
    expect(seen).toEqual([{ id: 1 }, { id: 2 }]);
    expect(seen[0]).toBeInstanceOf(OrderMessage);
    expect(await world.committed()).toBe(2);
  });

  it.each<[string, FeatureConsumer['message']]>([
    ['a class', OrderMessage],
    ['a Standard Schema', z.object({ id: z.int() })],
  ])('gets nothing that does not fit %s', async (_name, message) => {
    await start({ bindings: orders, consumers: [{ ...consumer, message }] });
    await world.write('orders', '{"id":1}', '{"id":"two"}', '{"id":3}');
    expect(seen).not.toContainEqual({ id: 'two' });
    expect(seen[0]).toEqual({ id: 1 });
  });

  it('without a message takes what was decoded', async () => {
    await start({ bindings: orders, consumers: [consumerOf(OrderMessageHandler)] });
    await world.write('orders', '{"any":"thing"}');
    expect(seen).toEqual([{ any: 'thing' }]);
  });

  it('is told where the message comes from', async () => {
    class Curious implements MessageHandler {
      handle(_message: unknown, metadata: MessageMetadata): void {
        const { topic, partition, offset, key, timestamp, headers, attempt, signal } = metadata;
        seen.push([topic, partition, offset, key, timestamp, headers.get('tenant')]);
        seen.push(attempt.total, signal.aborted, JSON.parse(JSON.stringify(metadata)));
      }
    }
    await start({ bindings: orders, consumers: [consumerOf(Curious)] });
    const headers = [{ key: 'tenant', value: 'acme' }];
    const timestamp = world.runtime.now() - 1_234;
    const record = { value: '"secret"', key: 'k', timestamp, partition: 1, headers };
    await world.write('orders', record);
    const shown = { topic: 'orders', partition: 1, offset: '0', key: 'k', timestamp };
    expect(seen).toEqual([
      ['orders', 1, 0n, 'k', timestamp, 'acme'],
      1,
      false,
      expect.objectContaining({ ...shown, attempt: expect.objectContaining({ call: 1 }) }),
    ]);
    expect(JSON.stringify(seen[3])).not.toMatch(/secret|acme/);
  });

  it("with ack: 'manual' is done when it says so by its context", async () => {
    class Careful implements MessageHandler {
      handle(message: unknown, { context, attempt }: MessageMetadata): void {
        seen.push([message, attempt.total]);
        if (message !== 'later' || seen.length > 2) context.acknowledge();
      }
    }
    const careful = { orders: { ...orders.orders, ack: 'manual' } } as const;
    await start({ bindings: careful, consumers: [consumerOf(Careful)] });
    await world.write('orders', '"now"', '"later"');
    expect(await world.committed()).toBe(1);
    await world.runtime.advance(10_000);
    expect(seen).toEqual([
      ['now', 1],
      ['later', 1],
      ['later', 1],
    ]);
    expect(await world.committed()).toBe(2);
  });

  it('sends in the transaction of its message by its context', async () => {
    await world.topic('invoices');
    class Invoicing implements MessageHandler {
      handle(message: unknown, { context }: MessageMetadata): void {
        context.transaction.send({ topic: 'invoices', value: `invoice of ${String(message)}` });
      }
    }
    const transactional = { orders: { ...orders.orders, transactions: { enabled: true } } };
    await start({ bindings: transactional, consumers: [consumerOf(Invoicing)] });
    await world.write('orders', '1');
    await world.runtime.advance(1_000);
    const invoices = await world.records('invoices');
    expect(invoices.map(({ value }) => String(value))).toEqual(['invoice of 1']);
    expect(await world.committed()).toBe(1);
  });

  it('that throws is called again, and told how often', async () => {
    class Failing implements MessageHandler {
      handle(_message: unknown, { attempt }: MessageMetadata): void {
        seen.push(attempt.call);
        if (attempt.call === 1) throw new Error('not yet');
      }
    }
    await start({ bindings: orders, consumers: [consumerOf(Failing)] });
    await world.write('orders', '1');
    await world.runtime.advance(1_000);
    expect(seen).toEqual([1, 2]);
    expect(await world.committed()).toBe(1);
  });

  it('that gives an Observable has it subscribed to', async () => {
    class Reactive implements MessageHandler {
      handle(message: unknown) {
        return of(message).pipe(tap((value) => seen.push(value)));
      }
    }
    await start({ bindings: orders, consumers: [consumerOf(Reactive)] });
    await world.write('orders', '1');
    expect(seen).toEqual([1]);
  });

  it('that is request-scoped is made for each message', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Scoped implements MessageHandler {
      #calls = 0;
      constructor(@Inject(REQUEST) private readonly request: { record: EventRecord }) {}
      handle(message: unknown, { offset }: MessageMetadata): void {
        seen.push([message, offset, this.request.record.offset, ++this.#calls]);
      }
    }
    await start({ bindings: orders, consumers: [consumerOf(Scoped)] });
    await world.write('orders', '1', '2');
    expect(seen).toEqual([
      [1, 0n, 0n, 1],
      [2, 1n, 1n, 1],
    ]);
    expect(await world.committed()).toBe(2);
  });

  it('injects what its feature imports, and is injected where the feature is', async () => {
    @Injectable()
    class Asking implements MessageHandler {
      constructor(@Inject('SHOP') readonly shop: string) {}
      handle(): void {
        seen.push(this);
      }
    }
    const shop = moduleOf({
      providers: [{ provide: 'SHOP', useValue: 'here' }],
      exports: ['SHOP'],
    });
    const feature = { imports: [shop], bindings: orders, consumers: [consumerOf(Asking)] };
    const first = { provide: 'FIRST', inject: [Asking], useFactory: (asking: Asking) => [asking] };
    const application = await start(feature, [first]);
    await world.write('orders', '1');
    expect(seen).toEqual([expect.objectContaining({ shop: 'here' })]);
    expect(application.get<Asking[]>('FIRST')[0]).toBe(seen[0]);
  });

  it('shares its binding with consumers and methods of other types', async () => {
    @Injectable()
    class Rest {
      @EventHandler('orders')
      rest({ offset }: EventRecord): void {
        seen.push(['rest', offset]);
      }
    }
    await start({ bindings: orders, consumers: [{ ...consumer, type: 'OrderPlaced' }] }, [Rest]);
    await world.write('orders', typed('OrderPlaced', '{"id":1}'), typed('OrderCancelled'));
    expect(seen).toEqual([{ id: 1 }, ['rest', 1n]]);
  });

  it('needs no bindings in its feature', async () => {
    const feature = EventBusModule.forFeature({ consumers: [consumer] });
    await world.start({ imports: [world.bus({ bindings: orders }), feature] });
    await world.write('orders', '{"id":1}');
    expect(seen).toEqual([{ id: 1 }]);
  });

  it.each([{ bindings: orders }, {}])('stands beside a factory that gives %o', async (made) => {
    const feature = EventBusModule.forFeatureAsync({
      imports: [moduleOf({ providers: [{ provide: 'MADE', useValue: made }], exports: ['MADE'] })],
      inject: ['MADE'],
      useFactory: (given: typeof made) => Promise.resolve(given),
      consumers: [consumer],
    });
    const bindings = 'bindings' in made ? {} : orders;
    await world.start({ imports: [world.bus({ bindings }), feature] });
    await world.write('orders', '{"id":1}');
    expect(seen).toEqual([{ id: 1 }]);
  });

  it('may be another object in a test', async () => {
    const feature = EventBusModule.forFeature({ bindings: orders, consumers: [consumer] });
    const testing = await Test.createTestingModule({ imports: [world.bus({}), feature] })
      .overrideProvider(OrderMessageHandler)
      .useValue({ handle: (message: unknown) => seen.push(['instead', message]) })
      .compile();
    await world.done(testing.init());
    await world.runtime.advance(500);
    await world.write('orders', '{"id":1}');
    await world.done(testing.close());
    expect(seen).toEqual([['instead', { id: 1 }]]);
  });

  it('is not changed, nor is its description', async () => {
    const before = [OrderMessageHandler, OrderMessageHandler.prototype].map(Reflect.ownKeys);
    const description = Object.freeze({ ...consumer });
    await start(Object.freeze({ bindings: orders, consumers: Object.freeze([description]) }));
    expect([OrderMessageHandler, OrderMessageHandler.prototype].map(Reflect.ownKeys)).toEqual(
      before,
    );
    expect(Reflect.getMetadataKeys(OrderMessageHandler.prototype, 'handle')).toEqual([]);
  });
});

describe('what a consumer depends on', () => {
  let entered: Deferred;
  let finish: Deferred;

  beforeEach(() => {
    entered = new Deferred();
    finish = new Deferred();
  });

  @Injectable()
  class Database implements OnModuleDestroy {
    isOpen = true;
    onModuleDestroy(): void {
      this.isOpen = false;
    }
  }

  const work = async (database: Database): Promise<void> => {
    entered.resolve();
    await finish.promise;
    seen.push(database.isOpen);
  };

  @Injectable()
  class Slow implements MessageHandler {
    constructor(@Inject(Database) private readonly database: Database) {}
    handle = (): Promise<void> => work(this.database);
  }

  @Injectable({ scope: Scope.REQUEST })
  class SlowAndScoped implements MessageHandler {
    constructor(@Inject(Database) private readonly database: Database) {}
    handle(): Promise<void> {
      return work(this.database);
    }
  }

  it.each([
    ['one instance', Slow],
    ['one for each message', SlowAndScoped],
  ])('closes only after the drain: %s', async (_name, handler) => {
    const database = moduleOf({ providers: [Database], exports: [Database] });
    const feature = { imports: [database], bindings: orders, consumers: [consumerOf(handler)] };
    // The database is nearer to the root than its user: Nest would destroy it first.
    const application = await world.start({
      imports: [
        database,
        moduleOf({ imports: [EventBusModule.forFeature(feature)] }),
        world.bus({}),
      ],
    });
    const written = world.write('orders', '1');
    await world.done(entered.promise);
    await written;
    const closed = application.close();
    await world.runtime.advance(1_000);
    expect(seen).toEqual([]);
    finish.resolve();
    await world.done(closed);
    expect(seen).toEqual([true]);
    expect(await world.committed()).toBe(1);
  });
});

describe('a consumer', () => {
  it('closes what it holds itself only after the drain', async () => {
    const [entered, finish] = [new Deferred(), new Deferred()];
    class Holding implements MessageHandler, OnModuleDestroy {
      #isOpen = true;
      async handle(): Promise<void> {
        entered.resolve();
        await finish.promise;
        seen.push(this.#isOpen);
      }
      onModuleDestroy(): void {
        this.#isOpen = false;
      }
    }
    const application = await start({ bindings: orders, consumers: [consumerOf(Holding)] });
    const written = world.write('orders', '1');
    await world.done(entered.promise);
    await written;
    const closed = application.close();
    await world.runtime.advance(1_000);
    finish.resolve();
    await world.done(closed);
    expect(seen).toEqual([true]);
  });
});

describe('the compiler', () => {
  class Payment {
    amount!: number;
  }

  it('refuses a handler of other messages than its consumer names', () => {
    const consumers = () =>
      EventBusModule.forFeature({
        consumers: [
          { binding: 'orders', message: OrderMessage, handler: OrderMessageHandler },
          { binding: 'schema', message: z.object({ id: z.int() }), handler: OrderMessageHandler },
          { binding: 'any', handler: OrderMessageHandler },
          // @ts-expect-error it handles orders
          { binding: 'payments', message: Payment, handler: OrderMessageHandler },
        ],
      });
    expect(consumers().exports).toEqual([OrderMessageHandler]);
  });

  it('does so beside a factory too', () => {
    const feature = () =>
      EventBusModule.forFeatureAsync({
        useFactory: () => ({}),
        // @ts-expect-error it handles orders
        consumers: [{ binding: 'payments', message: Payment, handler: OrderMessageHandler }],
      });
    expect(feature().exports).toEqual([OrderMessageHandler]);
  });
});
