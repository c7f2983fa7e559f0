import { memory } from '@nest-event-bus/broker/memory';
import { Inject, Injectable, type ModuleMetadata, type Type } from '@nestjs/common';
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
import { TestBus, errorOf } from '../support/test-bus.spec-support.js';
import { EventBusModule } from '../../src/nest/event-bus.module.js';
import type {
  EventBusModuleAsyncOptions,
  EventBusOptionsFactory,
} from '../../src/nest/module-options.js';
import { moduleOf } from '../support/module-of.spec-support.js';

let testBus: TestBus;
let handled: string[];

beforeEach(async () => {
  testBus = new TestBus();
  handled = [];
  for (const name of ['orders', 'payments', 'refunds']) await testBus.topic(name);
});

afterEach(() => testBus.end());

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
/** Modules that provide the options, so that factories have something to inject. */
const SETTINGS = Symbol('SETTINGS');
const settingsModule = (options: EventBusProperties): Type =>
  moduleOf({ providers: [{ provide: SETTINGS, useValue: options }], exports: [SETTINGS] });

@Injectable()
class OptionsFactory implements EventBusOptionsFactory {
  static instances = 0;
  constructor(@Inject(SETTINGS) private readonly options: EventBusProperties) {}
  createEventBusOptions(): Promise<EventBusProperties> {
    OptionsFactory.instances += 1;
    return Promise.resolve(this.options);
  }
}

describe('EventBusModule', () => {
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
      (options) => async({ imports: [settingsModule(options)], useClass: OptionsFactory }),
    ],
    [
      'forRootAsync with useExisting',
      (options) => {
        const settings = settingsModule(options);
        const factoryModule = {
          imports: [settings],
          providers: [OptionsFactory],
          exports: [OptionsFactory],
        };
        return async({ imports: [moduleOf(factoryModule)], useExisting: OptionsFactory });
      },
    ],
    [
      'forRootAsync with useExisting of a token',
      (options) => {
        const factory = { provide: 'MAKER', useValue: { createEventBusOptions: () => options } };
        const factoryModule = { providers: [factory], exports: ['MAKER'] };
        return async({ imports: [moduleOf(factoryModule)], useExisting: 'MAKER' });
      },
    ],
  ];

  it.each(forms)('accepts options by %s', async (_name, form) => {
    await testBus.start({ imports: [form(testBus.options(orders))], providers: [Orders] });
    await testBus.write('orders', '1');
    expect(handled).toEqual(['orders 1']);
  });

  it('creates one instance of the options class', async () => {
    OptionsFactory.instances = 0;
    const bus = async({
      imports: [settingsModule(testBus.options(orders))],
      useClass: OptionsFactory,
    });
    await testBus.start({ imports: [bus], providers: [Orders] });
    expect(OptionsFactory.instances).toBe(1);
  });

  it('rejects forRootAsync without useFactory, useClass or useExisting', () => {
    expect(() => EventBusModule.forRootAsync({})).toThrow(
      'EventBusModule.forRootAsync needs useFactory, useClass or useExisting',
    );
  });

  it.each<[string, EventBusModuleAsyncOptions]>([
    ['nothing', { useFactory: () => undefined as unknown as EventBusProperties }],
    ['null', { useFactory: () => null as unknown as EventBusProperties }],
    ['a string', { useFactory: () => 'kafka:9092' as unknown as EventBusProperties }],
  ])('rejects a factory that returns %s', async (_name, options) => {
    const work = testBus.start({ imports: [EventBusModule.forRootAsync(options)] });
    expect(await errorOf(work)).toMatchObject({ code: 'CONFIGURATION_INVALID' });
  });

  it('does not modify its options', async () => {
    const options = testBus.options(orders);
    const before = { ...options, bindings: structuredClone(options.bindings) };
    await testBus.start({
      imports: [EventBusModule.forRoot({ isGlobal: true, ...options })],
      providers: [Orders],
    });
    expect(options).toEqual(before);
  });

  it('accepts frozen options', async () => {
    const options = Object.freeze(testBus.options(Object.freeze(orders)));
    await testBus.start({ imports: [EventBusModule.forRoot(options)], providers: [Orders] });
    await testBus.write('orders', '1');
    expect(handled).toHaveLength(1);
  });
});

describe('A provider that the bus exports', () => {
  const exported = [
    LifecycleManager,
    EventBusConnector,
    EventPublisher,
    ContainerRegistry,
    ContainerFactory,
    ShutdownCoordinator,
  ];

  @Injectable()
  class UsingTheBus {
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
    const bus = EventBusModule.forRoot({ ...testBus.options(orders), isGlobal });
    const elsewhere = moduleOf({ imports, providers: [UsingTheBus] });
    return testBus.start({ imports: [bus, elsewhere], providers: [Orders] });
  };

  it.each([undefined, true])('is injectable everywhere with isGlobal: %s', async (isGlobal) => {
    const application = await appWith(isGlobal);
    const found = application.get(UsingTheBus, { strict: false });
    expect(Object.values(found).map((value: object) => value.constructor)).toEqual(exported);
  });

  it('creates containers that are read like others', async () => {
    const application = await appWith(true);
    const { factory, registry, lifecycle } = application.get(UsingTheBus, { strict: false });
    const binding = { ...registry.require('orders').config, name: 'copies', groupId: 'copies' };
    const read: number[] = [];
    const processor: RecordProcessor = {
      process: ({ record }) => {
        read.push(record.offset);
        return succeeded;
      },
    };
    const driver = memory({ broker: testBus.broker, clientId: 'copies' });
    registry.register(
      factory.create(binding, { driver, processor, tierProcessor: () => processor }),
    );
    await testBus.done(lifecycle.start('copies'));
    await testBus.runtime.advance(500);
    await testBus.write('orders', '1');
    expect(read).toEqual([0]);
    expect(await testBus.committed('copies')).toBe(1);
    await testBus.done(lifecycle.destroy('copies'));
    await testBus.done(driver.close());
  });

  it('is injectable only in importing modules with isGlobal: false', async () => {
    expect(String(await errorOf(appWith(false)))).toContain("can't resolve dependencies");
  });

  it('is injectable in a module that imports the same bus', async () => {
    const bus = EventBusModule.forRoot({ ...testBus.options(orders), isGlobal: false });
    const elsewhere = moduleOf({ imports: [bus], providers: [UsingTheBus] });
    await testBus.start({ imports: [bus, elsewhere], providers: [Orders] });
    await testBus.write('orders', '1');
    expect(handled).toEqual(['orders 1']);
  });

  it('rejects calls from a constructor, because the bus is not ready', async () => {
    const failures: unknown[] = [];
    @Injectable()
    class PublishingInConstructor {
      constructor(publisher: EventPublisher) {
        publisher.publish('orders', {}).catch((error: unknown) => failures.push(error));
      }
    }
    await testBus.start({
      imports: [testBus.module({ bindings: orders })],
      providers: [PublishingInConstructor, Orders],
    });
    expect(failures).toMatchObject([{ code: 'EVENT_BUS_NOT_READY', retriable: true }]);
  });
});

describe('Two imports of forRoot', () => {
  it('are refused, because each would read every topic', async () => {
    const imports = [testBus.module({ bindings: orders }), testBus.module({ bindings: payments })];
    const error = await errorOf(testBus.start({ imports, providers: [Orders, Payments] }));
    expect(violationsOf(error)).toEqual(['IMPORTED_TWICE EventBusModule']);
    expect((error as ConfigurationValidationException).violations[0]?.message).toBe(
      'EventBusModule.forRoot is imported twice. Import it once, in the root module, and add bindings elsewhere with EventBusModule.forFeature.',
    );
    expect(await testBus.groups()).toEqual([]);
  });
});

describe('EventBusModule without forRoot', () => {
  it('is refused, because it has no event bus', async () => {
    const imports = [moduleOf({ imports: [EventBusModule] })];
    const error = await errorOf(testBus.start({ imports, providers: [Orders] }));
    expect(violationsOf(error)).toEqual(['NO_ROOT EventBusModule']);
    expect((error as ConfigurationValidationException).violations[0]?.message).toBe(
      'is imported, but there is no event bus in it. Import EventBusModule.forRoot in the root module.',
    );
  });

  it('may be imported beside forRoot', async () => {
    const elsewhere = moduleOf({ imports: [EventBusModule] });
    const imports = [elsewhere, testBus.module({ bindings: orders })];
    await testBus.start({ imports, providers: [Orders] });
    await testBus.write('orders', '1');
    expect(handled).toEqual(['orders 1']);
  });
});

describe('A call of publish() after the application was closed', () => {
  it.each([
    ['nothing before', []],
    ['something before', ['first']],
  ])('is rejected in the same way, whether it published %s', async (_when, earlier) => {
    const application = await testBus.startOrders([Orders]);
    const publisher = application.get(EventPublisher);
    for (const event of earlier) await testBus.done(publisher.publish('orders', event));
    await testBus.done(application.close());
    const error = await errorOf(testBus.done(publisher.publish('orders', 'late')));
    expect(error).toMatchObject({ code: 'EVENT_PUBLISH', cause: { code: 'CLOSED' } });
    expect(String(error)).toContain('It was not written');
  });
});
