import { Injectable, Scope, UseGuards, type ModuleMetadata, type Type } from '@nestjs/common';
import { IsInt } from 'class-validator';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { Payload } from '../../src/discovery/decorators/parameters.js';
import type { HandlerDiscoveryException } from '../../src/errors/handler-errors.js';
import type { MessageHandler } from '../../src/model/extension-points/handler-interfaces.js';
import { errorOf, World } from '../support/application.spec-support.js';
import { EventBusModule } from '../../src/nest/event-bus.module.js';
import type { FeatureConsumer } from '../../src/nest/feature-consumer.js';

let world: World;

beforeEach(() => {
  world = new World();
});

afterEach(() => world.end());

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
) => world.start({ imports: [world.bus({}), EventBusModule.forFeature(feature)], providers });

const problemsOf = async (work: Promise<unknown>): Promise<readonly string[]> =>
  ((await errorOf(work)) as HandlerDiscoveryException).problems;

const refused = (...consumers: readonly unknown[]): Promise<readonly string[]> =>
  problemsOf(start({ bindings: orders, consumers: consumers as FeatureConsumer[] }));

describe('a consumer is refused', () => {
  class Handleless {}

  it.each<[string, unknown, string]>([
    [
      'that has no handle',
      { ...consumer, handler: Handleless },
      'Handleless has no method handle(message, metadata).',
    ],
    ['that is no class', { ...consumer, handler: () => 1 }, 'its handler is not a class.'],
    ['that is undefined', { ...consumer, handler: undefined }, 'in a circle?'],
    ['that names no binding', { ...consumer, binding: '' }, 'it names no binding.'],
    [
      'whose message is no type',
      { ...consumer, message: {} },
      'its message is neither a class nor a Standard Schema.',
    ],
    ['whose cluster is no name', { ...consumer, cluster: 1 }, 'its cluster is not a name.'],
    [
      'with an unknown key',
      { ...consumer, handlr: 1 },
      "it has an unknown key 'handlr'. Did you mean 'handler'?",
    ],
    ['that is nothing', undefined, 'it is no { binding, message, handler }.'],
  ])('%s', async (_name, given, problem) => {
    const problems = await refused(consumer, given);
    expect(problems).toEqual([expect.stringContaining(problem)]);
    expect(problems[0]).toMatch(/^EventBusModule\.forFeature, consumers\[1\]: /);
  });

  it('where its list is none', async () => {
    const consumers = consumer as unknown as FeatureConsumer[];
    const problems = await problemsOf(start({ bindings: orders, consumers }));
    expect(problems).toEqual([expect.stringContaining('its consumers are no list')]);
  });

  it('that is scoped and has no method in its class', async () => {
    @Injectable({ scope: Scope.TRANSIENT })
    class Scoped {
      handle = (): void => undefined;
    }
    expect(await refused(consumerOf(Scoped))).toEqual([
      expect.stringContaining('Scoped has no method handle(message, metadata) in its class'),
    ]);
  });

  it('whose guard would be left out', async () => {
    class Guarded {
      @UseGuards({ canActivate: () => false })
      handle(): void {}
    }
    expect(await refused(consumerOf(Guarded))).toEqual([
      expect.stringContaining('Guarded.handle has guards, interceptors, pipes or filters'),
    ]);
  });

  it('whose guard would be left out, also where its handle is a property', async () => {
    @UseGuards({ canActivate: () => false })
    class Guarded {
      handle = (): void => undefined;
    }
    expect(await refused(consumerOf(Guarded))).toEqual([
      expect.stringContaining('Guarded.handle has guards'),
    ]);
  });

  it('whose parameters ask for something else', async () => {
    class Asking {
      handle(@Payload() _message: unknown): void {}
    }
    expect(await refused(consumerOf(Asking))).toEqual([
      expect.stringContaining('Asking.handle has parameter decorators'),
    ]);
  });

  it('whose binding wants global guards', async () => {
    const bindings = { orders: { ...orders.orders, enhancers: 'all' as const } };
    expect(await problemsOf(start({ bindings, consumers: [consumer] }))).toEqual([
      expect.stringContaining(
        "OrderMessageHandler.handle registered for 'orders': its binding says enhancers: 'all'",
      ),
    ]);
  });

  it('whose binding nobody configured', async () => {
    const consumers = [consumer, { ...consumer, binding: 'order' }];
    expect(await problemsOf(start({ bindings: orders, consumers }))).toEqual([
      "OrderMessageHandler.handle registered for 'order' handles binding 'order', which is not configured. Did you mean 'orders'?",
    ]);
  });

  it('that takes what a method takes as well', async () => {
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

  it('that takes what a consumer of another feature takes', async () => {
    const features = [{ bindings: orders, consumers: [consumer] }, { consumers: [consumer] }];
    const imports = [world.bus({}), ...features.map((each) => EventBusModule.forFeature(each))];
    expect(await problemsOf(world.start({ imports }))).toEqual([
      expect.stringContaining("Binding 'orders' has 2 handlers"),
    ]);
  });

  it('in one error with all other consumers', async () => {
    const handleless = { ...consumer, handler: Handleless };
    expect(await refused(consumer, handleless, { ...consumer, message: {} }, consumer)).toEqual([
      expect.stringContaining('consumers[1]: Handleless has no method handle'),
      expect.stringContaining('consumers[2]: its message'),
      expect.stringContaining("Binding 'orders' has 2 handlers"),
    ]);
  });

  it('in one error with everything that is wrong with methods', async () => {
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

  it('where there is no bus', async () => {
    const imports = [EventBusModule.forFeature({ consumers: [consumer] })];
    expect(await errorOf(world.start({ imports }))).toMatchObject({
      code: 'CONFIGURATION_INVALID',
    });
  });

  it.each([{}, { consumers: [] }])('no more than a feature that brings %o', async (nothing) => {
    expect(await errorOf(start(nothing))).toMatchObject({ code: 'CONFIGURATION_INVALID' });
  });
});
