import { memory } from '@nest-event-bus/broker/memory';
import { Inject, Injectable, Module, type ModuleMetadata, type Type } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import type { EventBusProperties } from '../../src/config/properties/event-bus-properties.js';
import { ContainerFactory } from '../../src/containers/container-factory.js';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { ShutdownCoordinator } from '../../src/containers/shutdown/shutdown-coordinator.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { ConfigurationValidationException } from '../../src/errors/configuration-validation-exception.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { EventPublisher } from '../../src/publisher/event-publisher.js';
import { succeeded, type RecordProcessor } from '../../src/model/outcomes/outcome.js';
import { World, errorOf } from '../support/application.spec-support.js';
import { EventBusModule } from '../../src/nest/event-bus.module.js';
import type {
  EventBusModuleAsyncOptions,
  EventBusOptionsFactory,
} from '../../src/nest/module-options.js';

let world: World;
let handled: string[];

beforeEach(async () => {
  world = new World();
  handled = [];
  for (const name of ['orders', 'payments', 'refunds']) await world.topic(name);
});

afterEach(() => world.end());

@Injectable()
class Orders {
  @EventHandler('orders')
  handle({ topic, value }: EventRecord): void {
    handled.push(`${topic} ${JSON.stringify(value)}`);
  }
}

@Injectable()
class Payments {
  @EventHandler('payments')
  handle({ topic, value }: EventRecord): void {
    handled.push(`${topic} ${JSON.stringify(value)}`);
  }
}

const orders = { orders: { topic: 'orders', groupId: 'shop' } };
const payments = { payments: { topic: 'payments', groupId: 'shop-payments' } };

const violationsOf = (error: unknown): readonly string[] =>
  (error as ConfigurationValidationException).violations.map(({ rule, path }) => `${rule} ${path}`);

function moduleOf(metadata: ModuleMetadata): Type {
  class Some {}
  Module(metadata)(Some);
  return Some;
}

/** Modules of the test that hold the options, so that the factories have something to depend on. */
const SETTINGS = Symbol('SETTINGS');
const settingsModule = (options: EventBusProperties): Type =>
  moduleOf({ providers: [{ provide: SETTINGS, useValue: options }], exports: [SETTINGS] });

@Injectable()
class MakesOptions implements EventBusOptionsFactory {
  static made = 0;
  constructor(@Inject(SETTINGS) private readonly options: EventBusProperties) {}
  createEventBusOptions(): Promise<EventBusProperties> {
    MakesOptions.made += 1;
    return Promise.resolve(this.options);
  }
}

describe('EventBusModule gets its options', () => {
  type Form = (options: EventBusProperties) => ReturnType<typeof EventBusModule.forRoot>;
  const async = (options: EventBusModuleAsyncOptions) => EventBusModule.forRootAsync(options);

  const forms: readonly (readonly [string, Form])[] = [
    ['forRoot', (options) => EventBusModule.forRoot(options)],
    ['forRootAsync with useFactory', (options) => async({ useFactory: () => options })],
    [
      'forRootAsync with useFactory, inject and imports',
      (options) =>
        async({
          imports: [settingsModule(options)],
          inject: [SETTINGS],
          useFactory: (given: EventBusProperties) => Promise.resolve(given),
        }),
    ],
    [
      'forRootAsync with useClass',
      (options) => async({ imports: [settingsModule(options)], useClass: MakesOptions }),
    ],
    [
      'forRootAsync with useExisting',
      (options) => {
        const settings = settingsModule(options);
        const makers = { imports: [settings], providers: [MakesOptions], exports: [MakesOptions] };
        return async({ imports: [moduleOf(makers)], useExisting: MakesOptions });
      },
    ],
    [
      'forRootAsync with useExisting of a token',
      (options) => {
        const maker = { provide: 'MAKER', useValue: { createEventBusOptions: () => options } };
        const makers = { providers: [maker], exports: ['MAKER'] };
        return async({ imports: [moduleOf(makers)], useExisting: 'MAKER' });
      },
    ],
  ];

  it.each(forms)('by %s, and then reads', async (_name, form) => {
    await world.start({ imports: [form(world.options(orders))], providers: [Orders] });
    await world.write('orders', '1');
    expect(handled).toEqual(['orders 1']);
  });

  it('from one instance that is made once', async () => {
    MakesOptions.made = 0;
    const bus = async({
      imports: [settingsModule(world.options(orders))],
      useClass: MakesOptions,
    });
    await world.start({ imports: [bus], providers: [Orders] });
    expect(MakesOptions.made).toBe(1);
  });

  it('and says what is missing where nothing makes them', () => {
    expect(() => EventBusModule.forRootAsync({})).toThrow(
      'EventBusModule.forRootAsync needs useFactory, useClass or useExisting',
    );
  });

  it.each<[string, EventBusModuleAsyncOptions]>([
    ['nothing', { useFactory: () => undefined as unknown as EventBusProperties }],
    ['null', { useFactory: () => null as unknown as EventBusProperties }],
    ['a string', { useFactory: () => 'kafka:9092' as unknown as EventBusProperties }],
  ])('and refuses a factory that gives %s', async (_name, options) => {
    const work = world.start({ imports: [EventBusModule.forRootAsync(options)] });
    expect(await errorOf(work)).toMatchObject({ code: 'CONFIGURATION_INVALID' });
  });

  it('without changing them', async () => {
    const options = world.options(orders);
    const before = { ...options, bindings: structuredClone(options.bindings) };
    await world.start({
      imports: [EventBusModule.forRoot({ isGlobal: true, ...options })],
      providers: [Orders],
    });
    expect(options).toEqual(before);
  });

  it('frozen as well', async () => {
    const options = Object.freeze(world.options(Object.freeze(orders)));
    await world.start({ imports: [EventBusModule.forRoot(options)], providers: [Orders] });
    await world.write('orders', '1');
    expect(handled).toHaveLength(1);
  });
});

describe('what the bus exports', () => {
  const exported = [
    LifecycleManager,
    EventBusConnector,
    EventPublisher,
    ContainerRegistry,
    ContainerFactory,
    ShutdownCoordinator,
  ];

  @Injectable()
  class Elsewhere {
    constructor(
      readonly lifecycle: LifecycleManager,
      readonly connector: EventBusConnector,
      readonly publisher: EventPublisher,
      readonly registry: ContainerRegistry,
      readonly factory: ContainerFactory,
      readonly shutdown: ShutdownCoordinator,
    ) {}
  }

  const appWith = (isGlobal: boolean | undefined, imports: ModuleMetadata['imports'] = []) => {
    const bus = EventBusModule.forRoot({ ...world.options(orders), isGlobal });
    const elsewhere = moduleOf({ imports, providers: [Elsewhere] });
    return world.start({ imports: [bus, elsewhere], providers: [Orders] });
  };

  it.each([undefined, true])('is injectable everywhere with isGlobal: %s', async (isGlobal) => {
    const application = await appWith(isGlobal);
    const found = application.get(Elsewhere, { strict: false });
    expect(Object.values(found).map((value: object) => value.constructor)).toEqual(exported);
  });

  it('makes containers that are read like any other', async () => {
    const application = await appWith(true);
    const { factory, registry, lifecycle } = application.get(Elsewhere, { strict: false });
    const binding = { ...registry.require('orders').config, name: 'copies', groupId: 'copies' };
    const read: number[] = [];
    const processor: RecordProcessor = {
      process: ({ record }) => {
        read.push(record.offset);
        return succeeded;
      },
    };
    const driver = memory({ broker: world.broker, clientId: 'copies' });
    registry.register(
      factory.create(binding, { driver, processor, tierProcessor: () => processor }),
    );
    await world.done(lifecycle.start('copies'));
    await world.runtime.advance(500);
    await world.write('orders', '1');
    expect(read).toEqual([0]);
    expect(await world.committed('copies')).toBe(1);
    await world.done(lifecycle.destroy('copies'));
    await world.done(driver.close());
  });

  it('is for those alone who import it with isGlobal: false', async () => {
    expect(String(await errorOf(appWith(false)))).toContain("can't resolve dependencies");
  });

  it('is there for a module that imports the same bus', async () => {
    const bus = EventBusModule.forRoot({ ...world.options(orders), isGlobal: false });
    const elsewhere = moduleOf({ imports: [bus], providers: [Elsewhere] });
    await world.start({ imports: [bus, elsewhere], providers: [Orders] });
    await world.write('orders', '1');
    expect(handled).toEqual(['orders 1']);
  });

  it('says that it is not ready to a constructor that uses it', async () => {
    const failures: unknown[] = [];
    @Injectable()
    class Early {
      constructor(publisher: EventPublisher) {
        publisher.publish('orders', {}).catch((error: unknown) => failures.push(error));
      }
    }
    await world.start({ imports: [world.bus({ bindings: orders })], providers: [Early, Orders] });
    expect(failures).toMatchObject([{ code: 'EVENT_BUS_NOT_READY', retriable: true }]);
  });
});

describe('a feature', () => {
  const withRoot = (...imports: NonNullable<ModuleMetadata['imports']>): Promise<TestingModule> =>
    world.start({
      imports: [world.bus({ bindings: orders }), ...imports],
      providers: [Orders, Payments],
    });
  const bothAreRead = async (): Promise<void> => {
    await world.write('orders', '1');
    await world.write('payments', '2');
    expect(handled).toEqual(['orders 1', 'payments 2']);
  };

  it('adds its bindings to those of the root', async () => {
    await withRoot(moduleOf({ imports: [EventBusModule.forFeature({ bindings: payments })] }));
    await bothAreRead();
  });

  it('may come before the root', async () => {
    const feature = moduleOf({ imports: [EventBusModule.forFeature({ bindings: payments })] });
    const bus = world.bus({ bindings: orders });
    await world.start({ imports: [feature, bus], providers: [Orders, Payments] });
    await bothAreRead();
  });

  it('is found by a bus that is not global', async () => {
    const bus = EventBusModule.forRoot({ ...world.options(orders), isGlobal: false });
    const feature = moduleOf({ imports: [EventBusModule.forFeature({ bindings: payments })] });
    await world.start({ imports: [bus, feature], providers: [Orders, Payments] });
    await bothAreRead();
  });

  it('may be made later, of what it injects', async () => {
    const topics = { providers: [{ provide: 'TOPIC', useValue: 'payments' }], exports: ['TOPIC'] };
    const feature = EventBusModule.forFeatureAsync({
      imports: [moduleOf(topics)],
      inject: ['TOPIC'],
      useFactory: (topic: string) =>
        Promise.resolve({ bindings: { payments: { topic, groupId: 'shop-payments' } } }),
    });
    await withRoot(moduleOf({ imports: [feature] }));
    await bothAreRead();
  });

  it('is one of several, even of one module', async () => {
    @Injectable()
    class Refunds {
      @EventHandler('refunds')
      handle({ topic }: EventRecord): void {
        handled.push(topic);
      }
    }
    const refunds = { refunds: { topic: 'refunds', groupId: 'shop-refunds' } };
    const features = [
      EventBusModule.forFeature({ bindings: payments }),
      EventBusModule.forFeatureAsync({ useFactory: () => ({ bindings: refunds }) }),
    ];
    await withRoot(moduleOf({ imports: features, providers: [Refunds] }));
    await bothAreRead();
    await world.write('refunds', '3');
    expect(handled).toContain('refunds');
  });

  it('that is imported by two modules counts once', async () => {
    const feature = EventBusModule.forFeature({ bindings: payments });
    await withRoot(moduleOf({ imports: [feature] }), moduleOf({ imports: [feature] }));
    await bothAreRead();
  });

  it.each([
    ['the root describes as well', orders],
    ['another feature describes as well', payments],
  ])('may not describe a binding that %s', async (_name, bindings) => {
    const features = [
      EventBusModule.forFeature({ bindings: payments }),
      EventBusModule.forFeature({ bindings }),
    ];
    const error = await errorOf(withRoot(...features));
    const [name] = Object.keys(bindings);
    expect(violationsOf(error)).toEqual([`DUPLICATE_BINDING bindings.${name}`]);
  });

  it.each<[string, () => NonNullable<ModuleMetadata['imports']>]>([
    ['forFeature', () => [EventBusModule.forFeature({ bindings: payments })]],
    [
      'forFeatureAsync',
      () => [EventBusModule.forFeatureAsync({ useFactory: () => ({ bindings: payments }) })],
    ],
  ])('of %s needs a root', async (_name, imports) => {
    const error = await errorOf(world.start({ imports: imports(), providers: [Payments] }));
    expect(violationsOf(error)).toEqual(['NO_ROOT EventBusModule.forFeature']);
    expect((error as ConfigurationValidationException).violations[0]?.message).toBe(
      'brings bindings or consumers, but there is no event bus to run them. Import EventBusModule.forRoot in the root module.',
    );
  });

  it.each<[string, () => Promise<unknown> | object]>([
    ['nothing', () => undefined as unknown as object],
    ['no bindings', () => ({})],
    ['a list of bindings', () => ({ bindings: [] })],
    ['a mistyped key beside them', () => ({ binding: payments, bindings: payments })],
  ])('that gives %s is refused by name', async (_name, useFactory) => {
    const feature = EventBusModule.forFeatureAsync({ useFactory: useFactory as never });
    const error = await errorOf(withRoot(feature));
    expect(error).toMatchObject({ code: 'CONFIGURATION_INVALID' });
    expect(String(error)).toContain('forFeature');
  });
});

describe('two roots', () => {
  it('are refused, because each would read everything', async () => {
    const imports = [world.bus({ bindings: orders }), world.bus({ bindings: payments })];
    const error = await errorOf(world.start({ imports, providers: [Orders, Payments] }));
    expect(violationsOf(error)).toEqual(['IMPORTED_TWICE EventBusModule']);
    expect((error as ConfigurationValidationException).violations[0]?.message).toBe(
      'EventBusModule.forRoot is imported twice. Import it once, in the root module, and add bindings elsewhere with EventBusModule.forFeature.',
    );
    expect(await world.groups()).toEqual([]);
  });
});

describe('EventBusModule as it is', () => {
  it('is no event bus: the start is refused', async () => {
    const imports = [moduleOf({ imports: [EventBusModule] })];
    const error = await errorOf(world.start({ imports, providers: [Orders] }));
    expect(violationsOf(error)).toEqual(['NO_ROOT EventBusModule']);
    expect((error as ConfigurationValidationException).violations[0]?.message).toBe(
      'is imported, but there is no event bus in it. Import EventBusModule.forRoot in the root module.',
    );
  });

  it('may be imported beside forRoot', async () => {
    const elsewhere = moduleOf({ imports: [EventBusModule] });
    const imports = [elsewhere, world.bus({ bindings: orders })];
    await world.start({ imports, providers: [Orders] });
    await world.write('orders', '1');
    expect(handled).toEqual(['orders 1']);
  });
});

describe('publishing when the application is closed', () => {
  it.each([
    ['never', []],
    ['before', ['first']],
  ])('is refused in the same way whether it was done %s', async (_when, earlier) => {
    const application = await world.startOrders([Orders]);
    const publisher = application.get(EventPublisher);
    for (const event of earlier) await world.done(publisher.publish('orders', event));
    await world.done(application.close());
    const error = await errorOf(world.done(publisher.publish('orders', 'late')));
    expect(error).toMatchObject({ code: 'EVENT_PUBLISH', cause: { code: 'CLOSED' } });
    expect(String(error)).toContain('It was not written');
  });
});
