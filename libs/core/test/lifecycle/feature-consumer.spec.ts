import { Inject, Injectable, Scope, type ModuleMetadata, type Type } from '@nestjs/common';
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
import { TestBus } from '../support/test-bus.spec-support.js';
import { EventBusModule } from '../../src/nest/event-bus.module.js';
import type { FeatureConsumer } from '../../src/nest/feature-consumer.js';
import { moduleOf } from '../support/module-of.spec-support.js';

let testBus: TestBus;
let seen: unknown[];

beforeEach(async () => {
  testBus = new TestBus();
  seen = [];
  await testBus.topic('orders', 2);
});

afterEach(() => testBus.end());

const orders = { orders: { topic: 'orders', groupId: 'shop' } };

class OrderMessage {
  @IsInt() id!: number;
}

@Injectable()
class OrderMessageHandler implements MessageHandler<OrderMessage> {
  handle(message: OrderMessage): void {
    seen.push(message);
  }
}

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

/**
 * Starts an application with forRoot and this feature, and further bindings and providers if given.
 */
const start = (
  feature: Parameters<typeof EventBusModule.forFeature>[0],
  providers: ModuleMetadata['providers'] = [],
) =>
  testBus.start({ imports: [testBus.module({}), EventBusModule.forFeature(feature)], providers });

describe('A consumer of a feature', () => {
  it('handles the messages of its binding as instances of its message class', async () => {
    await start({ bindings: orders, consumers: [consumer] });
    await testBus.write('orders', '{"id":1}', '{"id":2}');
    expect(seen).toEqual([{ id: 1 }, { id: 2 }]);
    expect(seen[0]).toBeInstanceOf(OrderMessage);
    expect(await testBus.committed()).toBe(2);
  });

  it.each<[string, FeatureConsumer['message']]>([
    ['a class', OrderMessage],
    ['a Standard Schema', z.object({ id: z.int() })],
  ])('receives no message that does not match %s', async (_name, message) => {
    await start({ bindings: orders, consumers: [{ ...consumer, message }] });
    await testBus.write('orders', '{"id":1}', '{"id":"two"}', '{"id":3}');
    expect(seen).not.toContainEqual({ id: 'two' });
    expect(seen[0]).toEqual({ id: 1 });
  });

  it('receives the decoded value if it names no message class', async () => {
    await start({ bindings: orders, consumers: [consumerOf(OrderMessageHandler)] });
    await testBus.write('orders', '{"any":"thing"}');
    expect(seen).toEqual([{ any: 'thing' }]);
  });

  it('receives the metadata of the message', async () => {
    class ReadingMetadata implements MessageHandler {
      handle(_message: unknown, metadata: MessageMetadata): void {
        const { topic, partition, offset, key, timestamp, headers, attempt, signal } = metadata;
        seen.push([topic, partition, offset, key, timestamp, headers.get('tenant')]);
        seen.push(attempt.total, signal.aborted, JSON.parse(JSON.stringify(metadata)));
      }
    }
    await start({ bindings: orders, consumers: [consumerOf(ReadingMetadata)] });
    const headers = [{ key: 'tenant', value: 'acme' }];
    const timestamp = testBus.runtime.now() - 1_234;
    const record = { value: '"secret"', key: 'k', timestamp, partition: 1, headers };
    await testBus.write('orders', record);
    const metadataAsJson = { topic: 'orders', partition: 1, offset: '0', key: 'k', timestamp };
    expect(seen).toEqual([
      ['orders', 1, 0n, 'k', timestamp, 'acme'],
      1,
      false,
      expect.objectContaining({ ...metadataAsJson, attempt: expect.objectContaining({ call: 1 }) }),
    ]);
    expect(JSON.stringify(seen[3])).not.toMatch(/secret|acme/);
  });

  it("completes its message by context.acknowledge() with ack: 'manual'", async () => {
    class Acknowledging implements MessageHandler {
      handle(message: unknown, { context, attempt }: MessageMetadata): void {
        seen.push([message, attempt.total]);
        if (message !== 'later' || seen.length > 2) context.acknowledge();
      }
    }
    const manual = { orders: { ...orders.orders, ack: 'manual' } } as const;
    await start({ bindings: manual, consumers: [consumerOf(Acknowledging)] });
    await testBus.write('orders', '"now"', '"later"');
    expect(await testBus.committed()).toBe(1);
    await testBus.runtime.advance(10_000);
    expect(seen).toEqual([
      ['now', 1],
      ['later', 1],
      ['later', 1],
    ]);
    expect(await testBus.committed()).toBe(2);
  });

  it('sends in the transaction of its message', async () => {
    await testBus.topic('invoices');
    class Invoicing implements MessageHandler {
      handle(message: unknown, { context }: MessageMetadata): void {
        context.transaction.send({ topic: 'invoices', value: `invoice of ${String(message)}` });
      }
    }
    const transactional = { orders: { ...orders.orders, transactions: { enabled: true } } };
    await start({ bindings: transactional, consumers: [consumerOf(Invoicing)] });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(1_000);
    const invoices = await testBus.records('invoices');
    expect(invoices.map(({ value }) => String(value))).toEqual(['invoice of 1']);
    expect(await testBus.committed()).toBe(1);
  });

  it('is called again after an error, with the number of the call', async () => {
    class Failing implements MessageHandler {
      handle(_message: unknown, { attempt }: MessageMetadata): void {
        seen.push(attempt.call);
        if (attempt.call === 1) throw new Error('not yet');
      }
    }
    await start({ bindings: orders, consumers: [consumerOf(Failing)] });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(1_000);
    expect(seen).toEqual([1, 2]);
    expect(await testBus.committed()).toBe(1);
  });

  it('may return an Observable, which is subscribed to', async () => {
    class Reactive implements MessageHandler {
      handle(message: unknown) {
        return of(message).pipe(tap((value) => seen.push(value)));
      }
    }
    await start({ bindings: orders, consumers: [consumerOf(Reactive)] });
    await testBus.write('orders', '1');
    expect(seen).toEqual([1]);
  });

  it('is created for each message if it is request-scoped', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Scoped implements MessageHandler {
      #calls = 0;
      constructor(@Inject(REQUEST) private readonly request: { record: EventRecord }) {}
      handle(message: unknown, { offset }: MessageMetadata): void {
        seen.push([message, offset, this.request.record.offset, ++this.#calls]);
      }
    }
    await start({ bindings: orders, consumers: [consumerOf(Scoped)] });
    await testBus.write('orders', '1', '2');
    expect(seen).toEqual([
      [1, 0n, 0n, 1],
      [2, 1n, 1n, 1],
    ]);
    expect(await testBus.committed()).toBe(2);
  });

  it('injects what its feature imports, and is injectable in its feature', async () => {
    @Injectable()
    class WithDependency implements MessageHandler {
      constructor(@Inject('SHOP') readonly shop: string) {}
      handle(): void {
        seen.push(this);
      }
    }
    const shop = moduleOf({
      providers: [{ provide: 'SHOP', useValue: 'here' }],
      exports: ['SHOP'],
    });
    const feature = { imports: [shop], bindings: orders, consumers: [consumerOf(WithDependency)] };
    const first = {
      provide: 'FIRST',
      inject: [WithDependency],
      useFactory: (asking: WithDependency) => [asking],
    };
    const application = await start(feature, [first]);
    await testBus.write('orders', '1');
    expect(seen).toEqual([expect.objectContaining({ shop: 'here' })]);
    expect(application.get<WithDependency[]>('FIRST')[0]).toBe(seen[0]);
  });

  it('shares its binding with consumers and methods for other types', async () => {
    @Injectable()
    class Rest {
      @EventHandler('orders')
      rest({ offset }: EventRecord): void {
        seen.push(['rest', offset]);
      }
    }
    await start({ bindings: orders, consumers: [{ ...consumer, type: 'OrderPlaced' }] }, [Rest]);
    await testBus.write('orders', typed('OrderPlaced', '{"id":1}'), typed('OrderCancelled'));
    expect(seen).toEqual([{ id: 1 }, ['rest', 1n]]);
  });

  it('may use a binding of the root', async () => {
    const feature = EventBusModule.forFeature({ consumers: [consumer] });
    await testBus.start({ imports: [testBus.module({ bindings: orders }), feature] });
    await testBus.write('orders', '{"id":1}');
    expect(seen).toEqual([{ id: 1 }]);
  });

  it.each([{ bindings: orders }, {}])(
    'may be added to a feature whose factory returns %o',
    async (made) => {
      const feature = EventBusModule.forFeatureAsync({
        imports: [
          moduleOf({ providers: [{ provide: 'MADE', useValue: made }], exports: ['MADE'] }),
        ],
        inject: ['MADE'],
        useFactory: (given: typeof made) => Promise.resolve(given),
        consumers: [consumer],
      });
      const bindings = 'bindings' in made ? {} : orders;
      await testBus.start({ imports: [testBus.module({ bindings }), feature] });
      await testBus.write('orders', '{"id":1}');
      expect(seen).toEqual([{ id: 1 }]);
    },
  );

  it('may be replaced by overrideProvider in a test', async () => {
    const feature = EventBusModule.forFeature({ bindings: orders, consumers: [consumer] });
    const testing = await Test.createTestingModule({ imports: [testBus.module({}), feature] })
      .overrideProvider(OrderMessageHandler)
      .useValue({ handle: (message: unknown) => seen.push(['instead', message]) })
      .compile();
    await testBus.done(testing.init());
    await testBus.runtime.advance(500);
    await testBus.write('orders', '{"id":1}');
    await testBus.done(testing.close());
    expect(seen).toEqual([['instead', { id: 1 }]]);
  });

  it('is not modified by forFeature(), so its description may be frozen', async () => {
    const before = [OrderMessageHandler, OrderMessageHandler.prototype].map(Reflect.ownKeys);
    const description = Object.freeze({ ...consumer });
    await start(Object.freeze({ bindings: orders, consumers: Object.freeze([description]) }));
    expect([OrderMessageHandler, OrderMessageHandler.prototype].map(Reflect.ownKeys)).toEqual(
      before,
    );
    expect(Reflect.getMetadataKeys(OrderMessageHandler.prototype, 'handle')).toEqual([]);
  });
});

describe('The compiler', () => {
  class Payment {
    amount!: number;
  }

  it('rejects a consumer whose handler expects other messages', () => {
    const consumers = () =>
      EventBusModule.forFeature({
        consumers: [
          { binding: 'orders', message: OrderMessage, handler: OrderMessageHandler },
          { binding: 'schema', message: z.object({ id: z.int() }), handler: OrderMessageHandler },
          { binding: 'any', handler: OrderMessageHandler },
          // @ts-expect-error because this handler expects orders
          { binding: 'payments', message: Payment, handler: OrderMessageHandler },
        ],
      });
    expect(consumers().exports).toEqual([OrderMessageHandler]);
  });

  it('rejects a consumer whose handler expects other messages, in forFeatureAsync() too', () => {
    const feature = () =>
      EventBusModule.forFeatureAsync({
        useFactory: () => ({}),
        // @ts-expect-error because this handler expects orders
        consumers: [{ binding: 'payments', message: Payment, handler: OrderMessageHandler }],
      });
    expect(feature().exports).toEqual([OrderMessageHandler]);
  });
});
