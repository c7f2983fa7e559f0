import { Deferred } from '@nest-event-bus/broker/runtime';
import { Inject, Injectable, Scope, type OnModuleDestroy, type Type } from '@nestjs/common';
import type { MessageHandler } from '../../src/model/extension-points/handler-interfaces.js';
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

const consumerOf = (handler: Type<MessageHandler<never>>): FeatureConsumer => ({
  binding: 'orders',
  handler,
});

describe('A dependency of a consumer', () => {
  let started: Deferred;
  let finish: Deferred;

  beforeEach(() => {
    started = new Deferred();
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
    started.resolve();
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
    ['one instance per message', SlowAndScoped],
  ])('is destroyed only after the drain: %s', async (_name, handler) => {
    const database = moduleOf({ providers: [Database], exports: [Database] });
    const feature = { imports: [database], bindings: orders, consumers: [consumerOf(handler)] };
    // Nest would destroy the database first, because its module is nearer to the root than its user.
    const application = await testBus.start({
      imports: [
        database,
        moduleOf({ imports: [EventBusModule.forFeature(feature)] }),
        testBus.module({}),
      ],
    });
    const written = testBus.write('orders', '1');
    await testBus.done(started.promise);
    await written;
    const closed = application.close();
    await testBus.runtime.advance(1_000);
    expect(seen).toEqual([]);
    finish.resolve();
    await testBus.done(closed);
    expect(seen).toEqual([true]);
    expect(await testBus.committed()).toBe(1);
  });
});

describe('A consumer with onModuleDestroy', () => {
  it('is destroyed only after the drain', async () => {
    const [started, finish] = [new Deferred(), new Deferred()];
    class ClosingItself implements MessageHandler, OnModuleDestroy {
      #isOpen = true;
      async handle(): Promise<void> {
        started.resolve();
        await finish.promise;
        seen.push(this.#isOpen);
      }
      onModuleDestroy(): void {
        this.#isOpen = false;
      }
    }
    const feature = { bindings: orders, consumers: [consumerOf(ClosingItself)] };
    const imports = [testBus.module({}), EventBusModule.forFeature(feature)];
    const application = await testBus.start({ imports });
    const written = testBus.write('orders', '1');
    await testBus.done(started.promise);
    await written;
    const closed = application.close();
    await testBus.runtime.advance(1_000);
    finish.resolve();
    await testBus.done(closed);
    expect(seen).toEqual([true]);
  });
});
