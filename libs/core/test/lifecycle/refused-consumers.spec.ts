import { Injectable, Scope, UseGuards, type ModuleMetadata, type Type } from '@nestjs/common';
import { IsInt } from 'class-validator';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { Payload } from '../../src/discovery/decorators/parameters.js';
import type { HandlerDiscoveryException } from '../../src/errors/handler-errors.js';
import type { MessageHandler } from '../../src/model/extension-points/handler-interfaces.js';
import { errorOf, TestBus } from '../support/test-bus.spec-support.js';
import { EventBusModule } from '../../src/nest/event-bus.module.js';
import type { FeatureConsumer } from '../../src/nest/feature-consumer.js';

let testBus: TestBus;

beforeEach(() => {
  testBus = new TestBus();
});

afterEach(() => testBus.end());

class OrderMessage {
  @IsInt() id!: number;
}

@Injectable()
class OrderMessageHandler implements MessageHandler<OrderMessage> {
  handle(): void {}
}

const orders = { orders: { topic: 'orders', groupId: 'shop' } };
const consumer: FeatureConsumer = {
  binding: 'orders',
  message: OrderMessage,
  handler: OrderMessageHandler,
};
const consumerOf = (handler: Type<MessageHandler<never>>): FeatureConsumer => ({
  binding: 'orders',
  handler,
});

const start = (
  feature: Parameters<typeof EventBusModule.forFeature>[0],
  providers: ModuleMetadata['providers'] = [],
) =>
  testBus.start({ imports: [testBus.module({}), EventBusModule.forFeature(feature)], providers });

const problemsOf = async (work: Promise<unknown>): Promise<readonly string[]> =>
  ((await errorOf(work)) as HandlerDiscoveryException).problems;

const refused = (...consumers: readonly unknown[]): Promise<readonly string[]> =>
  problemsOf(start({ bindings: orders, consumers: consumers as FeatureConsumer[] }));

describe('A consumer', () => {
  class Handleless {}

  it.each<[string, unknown, string]>([
    [
      'its class has no method handle',
      { ...consumer, handler: Handleless },
      'Handleless has no method handle(message, metadata).',
    ],
    [
      'its handler is not a class',
      { ...consumer, handler: () => 1 },
      'its handler is not a class.',
    ],
    ['its handler is undefined', { ...consumer, handler: undefined }, 'in a circle?'],
    ['it names no binding', { ...consumer, binding: '' }, 'it names no binding.'],
    [
      'its message is not a class or schema',
      { ...consumer, message: {} },
      'its message is neither a class nor a Standard Schema.',
    ],
    ['its cluster is not a name', { ...consumer, cluster: 1 }, 'its cluster is not a name.'],
    [
      'it has an unknown key',
      { ...consumer, handlr: 1 },
      "it has an unknown key 'handlr'. Did you mean 'handler'?",
    ],
    ['it is undefined', undefined, 'it is not an object like { binding, message, handler }.'],
  ])('is refused if %s', async (_name, given, problem) => {
    const problems = await refused(consumer, given);
    expect(problems).toEqual([expect.stringContaining(problem)]);
    expect(problems[0]).toMatch(/^EventBusModule\.forFeature, consumers\[1\]: /);
  });

  it('is refused if `consumers` is not a list', async () => {
    const consumers = consumer as unknown as FeatureConsumer[];
    const problems = await problemsOf(start({ bindings: orders, consumers }));
    expect(problems).toEqual([expect.stringContaining('its consumers are not a list')]);
  });

  it('is refused if it is scoped and its handle is not a method of the class', async () => {
    @Injectable({ scope: Scope.TRANSIENT })
    class Scoped {
      handle = (): void => undefined;
    }
    expect(await refused(consumerOf(Scoped))).toEqual([
      expect.stringContaining('Scoped has no method handle(message, metadata) on its prototype'),
    ]);
  });

  it('is refused if its method has guards, which would not run', async () => {
    class Guarded {
      @UseGuards({ canActivate: () => false })
      handle(): void {}
    }
    expect(await refused(consumerOf(Guarded))).toEqual([
      expect.stringContaining('Guarded.handle has guards, interceptors, pipes or filters'),
    ]);
  });

  it('is refused if its class has guards, even if handle is a property', async () => {
    @UseGuards({ canActivate: () => false })
    class Guarded {
      handle = (): void => undefined;
    }
    expect(await refused(consumerOf(Guarded))).toEqual([
      expect.stringContaining('Guarded.handle has guards'),
    ]);
  });

  it('is refused if its parameters have decorators', async () => {
    class Asking {
      handle(@Payload() _message: unknown): void {}
    }
    expect(await refused(consumerOf(Asking))).toEqual([
      expect.stringContaining('Asking.handle has parameter decorators'),
    ]);
  });

  it("is refused if its binding has enhancers: 'all'", async () => {
    const bindings = { orders: { ...orders.orders, enhancers: 'all' as const } };
    expect(await problemsOf(start({ bindings, consumers: [consumer] }))).toEqual([
      expect.stringContaining(
        "OrderMessageHandler.handle registered for 'orders': its binding has enhancers: 'all'",
      ),
    ]);
  });

  it('is refused if its binding is not configured', async () => {
    const consumers = [consumer, { ...consumer, binding: 'order' }];
    expect(await problemsOf(start({ bindings: orders, consumers }))).toEqual([
      "OrderMessageHandler.handle registered for 'order' handles binding 'order', which is not configured. Did you mean 'orders'?",
    ]);
  });

  it('is refused if a method handles the same type', async () => {
    @Injectable()
    class Orders {
      @EventHandler('orders')
      all(): void {}
    }
    const [problem] = await problemsOf(
      start({ bindings: orders, consumers: [consumer] }, [Orders]),
    );
    expect(problem).toContain("Binding 'orders' has 2 handlers for all other types: Orders.all in");
    expect(problem).toContain("OrderMessageHandler.handle registered for 'orders'");
  });

  it('is refused if a consumer of another feature handles the same type', async () => {
    const features = [{ bindings: orders, consumers: [consumer] }, { consumers: [consumer] }];
    const imports = [
      testBus.module({}),
      ...features.map((each) => EventBusModule.forFeature(each)),
    ];
    expect(await problemsOf(testBus.start({ imports }))).toEqual([
      expect.stringContaining("Binding 'orders' has 2 handlers"),
    ]);
  });

  it('is reported in one error with all other wrong consumers', async () => {
    const handleless = { ...consumer, handler: Handleless };
    expect(await refused(consumer, handleless, { ...consumer, message: {} }, consumer)).toEqual([
      expect.stringContaining('consumers[1]: Handleless has no method handle'),
      expect.stringContaining('consumers[2]: its message'),
      expect.stringContaining("Binding 'orders' has 2 handlers"),
    ]);
  });

  it('is reported in one error with wrong handler methods', async () => {
    @Injectable()
    class Nameless {
      @EventHandler('')
      all(): void {}
    }
    const consumers = [consumerOf(Handleless as Type<MessageHandler>)];
    expect(await problemsOf(start({ bindings: orders, consumers }, [Nameless]))).toEqual([
      expect.stringContaining('Nameless.all'),
      expect.stringContaining('Handleless has no method handle'),
    ]);
  });

  it('is refused if no bus is imported', async () => {
    const imports = [EventBusModule.forFeature({ consumers: [consumer] })];
    expect(await errorOf(testBus.start({ imports }))).toMatchObject({
      code: 'CONFIGURATION_INVALID',
    });
  });

  it.each([{}, { consumers: [] }])(
    'is required in a feature without bindings: %o is refused',
    async (nothing) => {
      expect(await errorOf(start(nothing))).toMatchObject({ code: 'CONFIGURATION_INVALID' });
    },
  );
});
