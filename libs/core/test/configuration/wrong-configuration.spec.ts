import { memory } from '@nest-event-bus/broker/memory';
import { Injectable, Module, Scope, type CanActivate, type Provider } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { DltAlert, DltHandler } from '../../src/discovery/decorators/dlt-decorators.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import {
  EXCEPTION_CLASSIFIER,
  TOPIC_NAMING_STRATEGY,
} from '../../src/discovery/decorators/tokens.js';
import { ConfigurationValidationException } from '../../src/errors/configuration-validation-exception.js';
import { HandlerDiscoveryException } from '../../src/errors/handler-errors.js';
import { EventPublisher } from '../../src/publisher/event-publisher.js';
import { fromEnvironment } from '../../src/presets/index.js';
import { World, errorOf } from '../support/application.spec-support.js';
import { EventBusModule } from '../../src/nest/event-bus.module.js';

let world: World;

beforeEach(async () => {
  world = new World();
  for (const name of ['orders', 'payments']) await world.topic(name);
});

afterEach(() => world.end());

@Injectable()
class Orders {
  @EventHandler('orders')
  handle(): void {}
}

const orders = { topic: 'orders', groupId: 'shop' };
const payments = { topic: 'payments', groupId: 'shop' };

describe('a configuration that is wrong', () => {
  const startWrongly = async (): Promise<unknown> => {
    @Injectable()
    class Slow {
      @EventHandler('orders', { sessionTimeoutMs: '5 parsecs' as never })
      handle(): void {}
    }
    const bus = world.bus({
      bindings: {
        orders,
        audit: { topic: 'not a topic!', groupId: 'audit', concurency: 2 } as never,
      },
      defaults: { maxPollRecords: -1 },
    });
    const feature = EventBusModule.forFeature({
      bindings: { payments: { ...payments, ackMode: 'SOMETIMES' as never } },
    });
    const application = await world.compile({ imports: [bus, feature], providers: [Slow] });
    return errorOf(world.done(application.init()));
  };

  it('stops the start with all that is wrong, of the options, the features and the decorators', async () => {
    const error = await startWrongly();
    expect(error).toBeInstanceOf(ConfigurationValidationException);
    const { violations } = error as ConfigurationValidationException;
    expect(violations.map(({ path }) => path).sort()).toEqual([
      'Slow.handle in RootTestModule (orders).sessionTimeoutMs',
      'bindings.audit.concurency',
      'bindings.audit.topic',
      'bindings.payments.ackMode',
      'defaults.maxPollRecords',
    ]);
    for (const { path, message } of violations)
      expect(String(error)).toContain(`  - ${path}: ${message}`);
  });

  it('hides nothing that is wrong with handlers and providers, nor is hidden by it', async () => {
    @Injectable()
    class Wrong {
      @EventHandler('orders', { filter: 'x' as never, concurency: 2 } as never)
      handle(): void {}
      @EventHandler('orders')
      rival(): void {}
      @DltHandler('orders')
      bury(): void {}
      @DltHandler('orders')
      again(): void {}
    }
    const bus = world.bus({ bindings: { orders: { ...orders, concurrency: 0 } } });
    const providers = [Wrong, { provide: EXCEPTION_CLASSIFIER, useValue: {} }];
    const error = await errorOf(world.start({ imports: [bus], providers }));
    expect(error).toBeInstanceOf(ConfigurationValidationException);
    const { violations } = error as ConfigurationValidationException;
    expect(violations.map(({ rule, path }) => `${rule} ${path}`).sort()).toEqual([
      'HANDLERS handlers',
      'HANDLERS handlers',
      'HANDLERS handlers',
      'NUMBER bindings.orders.concurrency',
      'PROVIDER EXCEPTION_CLASSIFIER',
      'UNKNOWN_KEY Wrong.handle in RootTestModule (orders).concurency',
    ]);
    expect(String(error)).toContain('  - handlers: Wrong.handle in RootTestModule: its filter');
  });

  it('suggests what was meant', async () => {
    expect(String(await startWrongly())).toContain("Did you mean 'concurrency'?");
  });

  it('is found before anything was read: no group was joined, no client was heard of', async () => {
    await startWrongly();
    await world.runtime.advance(10_000);
    expect(await world.groups()).toEqual([]);
  });

  it('closes in order all the same', async () => {
    await startWrongly();
    await expect(world.end()).resolves.toBeUndefined();
  });

  it('with two bindings that read one topic in one group is one', async () => {
    const bindings = { orders, again: orders };
    const error = await errorOf(
      world.start({ imports: [world.bus({ bindings })], providers: [Orders] }),
    );
    expect(String(error)).toContain("binding 'orders' reads topic 'orders' in group 'shop' too");
  });

  it('with a compression that the driver cannot write is one, before anything is published', async () => {
    const able = memory({ broker: world.broker });
    const capabilities = { ...able.capabilities, compressions: ['none', 'gzip'] };
    const driver = Object.assign(Object.create(able) as typeof able, { capabilities });
    const clusters = { eu: { driver, producer: { compression: 'snappy' } } } as const;
    const bus = world.bus({ clusters, bindings: { orders } });
    const error = await errorOf(world.start({ imports: [bus], providers: [Orders] }));
    expect(error).toMatchObject({
      violations: [
        {
          rule: 'COMPRESSION',
          path: 'clusters.eu.producer.compression',
          value: 'snappy',
          message:
            "is 'snappy', which driver 'memory' cannot write here. Choose one of: none, gzip.",
        },
      ],
    });
  });

  it('with its driver is told of all bindings at once', async () => {
    @Injectable()
    class Both {
      @EventHandler('orders')
      @EventHandler('payments')
      handle(): void {}
    }
    const able = memory({ broker: world.broker });
    const capabilities = { ...able.capabilities, transactions: false };
    const driver = Object.assign(Object.create(able) as typeof able, { capabilities });
    const transactions = { enabled: true };
    const bindings = {
      orders: { ...orders, transactions },
      payments: { ...payments, transactions },
    };
    const imports = [world.bus({ driver, bindings })];
    const error = await errorOf(world.start({ imports, providers: [Both] }));
    const violation = {
      rule: 'TRANSACTIONS_UNSUPPORTED',
      value: true,
      message:
        "the driver 'memory' of cluster 'default' has no transactions. Use another one, or set it to false.",
    };
    expect(error).toMatchObject({
      violations: [
        { ...violation, path: 'bindings.orders.transactions.enabled' },
        { ...violation, path: 'bindings.payments.transactions.enabled' },
      ],
    });
  });

  it('with a binding of single records whose handler takes whole slices is one', async () => {
    @Injectable()
    class Batches {
      @EventHandler.Batch('orders')
      handle(): void {}
    }
    const bindings = { orders: { ...orders, listenerType: 'SINGLE' } } as const;
    const error = await errorOf(
      world.start({ imports: [world.bus({ bindings })], providers: [Batches] }),
    );
    expect(error).toMatchObject({
      violations: [
        {
          rule: 'LISTENER_TYPE',
          path: 'bindings.orders.listenerType',
          message:
            "must be 'BATCH', since @EventHandler.Batch on Batches.handle in RootTestModule takes whole slices; got 'SINGLE'. Leave it out, or use @EventHandler for single records.",
        },
      ],
    });
  });

  it('without brokers is one', async () => {
    const imports = [EventBusModule.forRoot({ bindings: { orders } })];
    const error = await errorOf(world.start({ imports, providers: [Orders] }));
    expect(error).toMatchObject({ violations: [{ rule: 'BROKERS_MISSING', path: 'brokers' }] });
  });

  it('without any options is one', async () => {
    const error = await errorOf(world.start({ imports: [EventBusModule.forRoot()] }));
    expect(error).toMatchObject({ violations: [{ rule: 'BROKERS_MISSING' }] });
  });
});

describe('handlers and bindings that do not fit', () => {
  const problemsOf = async (providers: object[], bindings: object): Promise<readonly string[]> => {
    const imports = [world.bus({ bindings: bindings as never })];
    const error = await errorOf(world.start({ imports, providers: providers as never }));
    expect(error).toBeInstanceOf(HandlerDiscoveryException);
    await world.runtime.advance(10_000);
    expect(await world.groups()).toEqual([]);
    return (error as HandlerDiscoveryException).problems;
  };

  it('stop the start: a binding that nobody handles', async () => {
    expect(await problemsOf([Orders], { orders, payments })).toEqual([
      "Binding 'payments' has no handler. Write a method with @EventHandler('payments') in a provider or controller, or take the binding out; where it is only published to, set bindingsWithoutHandler: 'allow'.",
    ]);
  });

  it("let it start with bindingsWithoutHandler: 'allow': such a binding is published to, not read, and may be registered later", async () => {
    const bus = world.bus({ bindings: { orders, payments }, bindingsWithoutHandler: 'allow' });
    const application = await world.start({ imports: [bus], providers: [Orders] });
    await world.done(application.get(EventPublisher).publish('payments', { id: 1 }));
    await world.runtime.advance(5_000);
    const connector = application.get(EventBusConnector);
    expect(connector.listBindings().map(({ binding }) => binding)).toEqual(['orders']);
    const seen: unknown[] = [];
    const registering = connector.register(
      'payments',
      payments,
      ({ value }) => void seen.push(value),
    );
    await world.done(registering);
    // The group has another member, which hears of this one by its heartbeat.
    await world.runtime.advance(15_000);
    expect(seen).toEqual([{ id: 1 }]);
  });

  it('stop the start: a handler of a binding that does not exist, with the one that was meant', async () => {
    @Injectable()
    class Typo {
      @EventHandler('order')
      handle(): void {}
    }
    const [problem] = await problemsOf([Orders, Typo], { orders });
    expect(problem).toContain("handles binding 'order', which is not configured.");
    expect(problem).toContain("Did you mean 'orders'?");
  });

  it('are told all at once', async () => {
    @Injectable()
    class Typo {
      @EventHandler('order')
      handle(): void {}
    }
    expect(await problemsOf([Typo], { orders, payments })).toHaveLength(3);
  });

  it('are told with what is wrong with the handlers themselves', async () => {
    @Injectable()
    class Typo {
      @EventHandler('order')
      handle(): void {}
      @EventHandler('orders', { type: '' })
      nameless(): void {}
    }
    expect(await problemsOf([Typo], { orders })).toEqual([
      'Typo.nameless in RootTestModule: its type is not a name.',
      expect.stringContaining("Did you mean 'orders'?"),
    ]);
  });

  it("are told of all bindings at once, with enhancers: 'all' too", async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Scoped implements CanActivate {
      canActivate(): boolean {
        return true;
      }
    }
    @Injectable()
    class Both {
      @EventHandler('orders')
      one(): void {}
      @EventHandler('payments')
      other(): void {}
    }
    const all = { enhancers: 'all' } as const;
    const guard = { provide: APP_GUARD, useClass: Scoped };
    const bindings = { orders: { ...orders, ...all }, payments: { ...payments, ...all } };
    expect(await problemsOf([Both, guard], bindings)).toEqual([
      expect.stringContaining('Both.one'),
      expect.stringContaining('Both.other'),
    ]);
  });

  it('stop the start: two handlers for one type', async () => {
    @Injectable()
    class Twice {
      @EventHandler('orders')
      one(): void {}
      @EventHandler('orders')
      other(): void {}
    }
    expect(await problemsOf([Twice], { orders })).toHaveLength(1);
  });
});

describe('options from loaders', () => {
  const start = (environment: Record<string, string>, properties: object = {}) =>
    world.start({
      imports: [
        world.bus({
          loaders: [fromEnvironment(environment)],
          bindings: { orders: { topic: 'orders', ...properties } as never },
        }),
      ],
      providers: [Orders],
    });

  it('count where the options say nothing', async () => {
    await start({ EVENTBUS_DEFAULTS_GROUP_ID: 'from-environment' });
    expect(await world.groups()).toEqual(['from-environment']);
  });

  it('lose against the options', async () => {
    await start({ EVENTBUS_DEFAULTS_GROUP_ID: 'from-environment' }, { groupId: 'shop' });
    expect(await world.groups()).toEqual(['shop']);
  });

  it('are checked as strictly', async () => {
    const loader = { source: 'the file', options: { defaults: { concurrency: 0 } }, unused: [] };
    const imports = [world.bus({ loaders: [loader], bindings: { orders } })];
    const error = await errorOf(world.start({ imports, providers: [Orders] }));
    expect(String(error)).toContain('the file.defaults.concurrency');
  });

  it('tell of what they found and have no place for', async () => {
    const unused = [{ source: 'the file', key: 'acks', reason: 'it is always all.' }];
    const loader = { source: 'the file', options: {}, unused };
    await world.start({
      imports: [world.bus({ loaders: [loader], bindings: { orders } })],
      providers: [Orders],
    });
    expect(world.said.warnings).toContain(
      'the file sets acks, which the event bus does not use: it is always all.',
    );
  });
});

describe('what an application provides for all bindings', () => {
  @Injectable()
  class Counter {}
  @Injectable({ scope: Scope.REQUEST })
  class Scoped {
    constructor(readonly counter: Counter) {}
    classify(): void {}
    retryTopic(): void {}
    deadLetterTopic(): void {}
  }
  const refusal = async (...providers: Provider[]): Promise<unknown> =>
    errorOf(world.startOrders([Orders, Counter, ...providers]));
  const classifier = { classify: () => undefined };
  const naming = { retryTopic: () => 'a', deadLetterTopic: () => 'b' };

  it.each([
    [EXCEPTION_CLASSIFIER, 'EXCEPTION_CLASSIFIER', 'a method classify(error, currentTier)'],
    [
      TOPIC_NAMING_STRATEGY,
      'TOPIC_NAMING_STRATEGY',
      'the methods retryTopic(topic, tier) and deadLetterTopic(topic)',
    ],
  ])('%p is refused where it lacks a method', async (provide, path, methods) => {
    const useValue = { classfy: () => undefined, retryTopic: () => 'a' };
    expect(await refusal({ provide, useValue })).toMatchObject({
      violations: [{ rule: 'PROVIDER', path, message: `must be an object with ${methods}.` }],
    });
  });

  it.each([
    ['request-scoped', { useClass: Scoped }],
    ['transient', { useFactory: () => classifier, scope: Scope.TRANSIENT }],
  ])('is refused where it is %s: there is no such instance', async (_what, made) => {
    for (const provide of [EXCEPTION_CLASSIFIER, TOPIC_NAMING_STRATEGY]) {
      expect(await refusal({ provide, ...made })).toMatchObject({
        violations: [
          {
            rule: 'PROVIDER',
            message:
              'is made anew for each request or for each who asks, but the event bus needs one for the whole application. Make it a singleton, and all that it injects.',
          },
        ],
      });
    }
  });

  it.each([
    [EXCEPTION_CLASSIFIER, classifier],
    [TOPIC_NAMING_STRATEGY, naming],
  ])('is refused where two modules differ: %p', async (provide, one) => {
    @Module({ providers: [{ provide, useValue: { ...one } }] })
    class Elsewhere {}
    const imports = [world.bus({ bindings: { orders } }), Elsewhere];
    const providers = [Orders, { provide, useValue: one }];
    const error = await errorOf(world.start({ imports, providers }));
    expect(String(error)).toMatch(/is provided 2 times, in (RootTestModule|Elsewhere) and/);
  });

  it('may be nothing, and may be found under an alias', async () => {
    @Injectable()
    class Mine {
      classify(): void {}
    }
    const nothing = { provide: TOPIC_NAMING_STRATEGY, useValue: undefined };
    const alias = { provide: EXCEPTION_CLASSIFIER, useExisting: Mine };
    expect(await refusal(nothing, Mine, alias)).toBeUndefined();
  });
});

describe('options that do nothing in this version', () => {
  it('are told at start, all in one line', async () => {
    await world.startOrders([Orders], { dlt: { replay: { maxReplays: 5, batchSize: 10 } } });
    expect(world.said.warnings).toContain(
      'These options are accepted, but have no effect in this version: bindings.orders.dlt.replay.maxReplays, bindings.orders.dlt.replay.batchSize.',
    );
  });
});

describe('what asks for dead letters that nobody gives to it', () => {
  @Injectable()
  class Undertaker {
    @DltHandler('orders')
    bury(): void {}
    @DltAlert('orders')
    cry(): void {}
    @DltAlert()
    cryForAll(): void {}
  }
  const idle = async (strategy?: 'CUSTOM' | 'ALERT_AND_STORE'): Promise<readonly string[]> => {
    await world.startOrders([Orders, Undertaker], strategy ? { dlt: { strategy } } : {});
    return world.said.warnings.filter((text) => text.startsWith('Nothing calls'));
  };
  const HANDLER =
    "Nothing calls @DltHandler on Undertaker.bury in RootTestModule: binding 'orders' has no dlt.strategy 'CUSTOM'.";
  const ALERTS = [
    "Nothing calls @DltAlert on Undertaker.cry in RootTestModule: binding 'orders' has no dlt.strategy 'ALERT_AND_STORE'.",
    "Nothing calls @DltAlert on Undertaker.cryForAll in RootTestModule: no binding has dlt.strategy 'ALERT_AND_STORE'.",
  ];

  it('is told at start', async () => {
    expect(await idle()).toEqual([HANDLER, ...ALERTS]);
  });

  it('and is not, as far as dlt.strategy asks for it', async () => {
    expect(await idle('CUSTOM')).toEqual(ALERTS);
    await world.end();
    world = new World();
    expect(await idle('ALERT_AND_STORE')).toEqual([HANDLER]);
  });

  it('is not told where the bus is off', async () => {
    const bus = world.bus({ enabled: false, bindings: { orders } });
    await world.start({ imports: [bus], providers: [Orders, Undertaker] });
    expect(world.said.warnings.join()).not.toContain('Nothing calls');
  });
});

describe('what is for the dead letters of a binding that is not there', () => {
  const refusal = async (decorate: MethodDecorator): Promise<unknown> => {
    @Injectable()
    class Undertaker {
      @decorate
      bury(): void {}
    }
    return errorOf(world.startOrders([Orders, Undertaker], { dlt: { strategy: 'CUSTOM' } }));
  };
  const bury = 'Undertaker.bury in RootTestModule';

  it.each([
    [
      DltHandler('ordres'),
      `${bury} is for dead letters of binding 'ordres', which is not configured. Did you mean 'orders'? One that is registered later is named with its cluster: { cluster: 'default' }.`,
    ],
    [
      DltAlert('shipments'),
      `${bury} is for dead letters of binding 'shipments', which is not configured. Configured are: orders. One that is registered later is named with its cluster: { cluster: 'default' }.`,
    ],
    [
      DltAlert('orders', { cluster: 'defualt' }),
      `${bury} is for dead letters of cluster 'defualt', which is not configured. Did you mean 'default'?`,
    ],
    [DltHandler(undefined as never), `${bury}: it names no binding.`],
    [DltAlert(7 as never), `${bury}: it names no binding.`],
  ])('stops the start', async (decorate, problem) => {
    expect(await refusal(decorate as MethodDecorator)).toMatchObject({
      code: 'HANDLER_DISCOVERY',
      problems: [problem],
    });
  });

  it('but not where the bus is off', async () => {
    @Injectable()
    class Undertaker {
      @DltAlert('ordres')
      bury(): void {}
    }
    const bus = world.bus({ enabled: false, bindings: { orders } });
    const starting = world.start({ imports: [bus], providers: [Orders, Undertaker] });
    expect(await errorOf(starting)).toBeUndefined();
  });
});

describe('a strategy for dead letters that nobody carries out', () => {
  @Injectable()
  class Undertaker {
    @DltHandler('orders')
    bury(): void {}
    @DltAlert()
    cryForAll(): void {}
  }
  const unattended = async (
    strategy: 'CUSTOM' | 'ALERT_AND_STORE',
    providers: readonly (typeof Undertaker)[] = [],
  ): Promise<readonly string[]> => {
    await world.startOrders([Orders, ...providers], { dlt: { strategy } });
    return world.said.warnings.filter((text) => text.includes('only stored'));
  };

  it.each([
    ['CUSTOM', '@DltHandler'],
    ['ALERT_AND_STORE', '@DltAlert'],
  ] as const)('is told at start: %s', async (strategy, decorator) => {
    expect(await unattended(strategy)).toEqual([
      `Binding 'orders' has dlt.strategy '${strategy}', but no ${decorator} is there for it: its dead letters are only stored. Add one, or set dlt.strategy to 'STORE_ONLY'.`,
    ]);
  });

  it.each(['CUSTOM', 'ALERT_AND_STORE'] as const)(
    'is not, where somebody does: %s',
    async (given) => {
      expect(await unattended(given, [Undertaker])).toEqual([]);
    },
  );
});

describe('options that something else leaves without effect', () => {
  it('are told at start', async () => {
    await world.startOrders([Orders], { topics: { partitions: 3 } });
    expect(world.said.warnings).toContain(
      "bindings.orders.topics.partitions (the options) has no effect: provisioning is not 'create': no topic is created.",
    );
  });

  it('stop the start where they are surely a mistake', async () => {
    const start = world.startOrders([Orders], { strictExhaustion: 'PAUSE_PARTITION' });
    expect(String(await errorOf(start))).toContain(
      'bindings.orders.strictExhaustion: has no effect',
    );
  });
});

it('Nothing is told of an application that lacks nothing', async () => {
  for (const topic of ['orders.retry-1', 'orders.retry-2', 'orders.retry-3', 'orders.DLT'])
    await world.topic(topic);
  const classifier = { provide: EXCEPTION_CLASSIFIER, useValue: { classify: () => undefined } };
  await world.startOrders([Orders, classifier]);
  expect(world.said.warnings).toEqual([]);
});

describe('an application that does not listen to SIGTERM', () => {
  const told = (): readonly string[] =>
    world.said.warnings.filter((text) => text.startsWith('Nobody listens to SIGTERM'));
  const withListeners = (count: number): void => {
    jest.spyOn(process, 'listenerCount').mockReturnValue(count);
  };

  afterEach(() => jest.restoreAllMocks());

  it('is told so, once main.ts had the time to call enableShutdownHooks()', async () => {
    withListeners(0);
    await world.startOrders([Orders]);
    expect(told()).toEqual([]);
    await world.runtime.advance(1_000);
    expect(told()).toEqual([expect.stringContaining('Call app.enableShutdownHooks().')]);
  });

  it('is not, where it called it in time', async () => {
    withListeners(0);
    await world.startOrders([Orders]);
    withListeners(1);
    await world.runtime.advance(5_000);
    expect(told()).toEqual([]);
  });

  it('is not, where it is closed before', async () => {
    withListeners(0);
    const application = await world.startOrders([Orders]);
    const closing = application.close();
    await world.runtime.advance(5_000);
    await closing;
    expect(told()).toEqual([]);
  });

  it('hears of nothing where the hooks are on', async () => {
    const application = await world.startOrders([Orders]);
    application.enableShutdownHooks(['SIGTERM']);
    await world.runtime.advance(5_000);
    expect(told()).toEqual([]);
  });
});
