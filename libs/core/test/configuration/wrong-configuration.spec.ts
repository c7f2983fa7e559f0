import { memory } from '@nest-event-bus/broker/memory';
import { Injectable } from '@nestjs/common';
import { DltHandler } from '../../src/discovery/decorators/dlt-decorators.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { EXCEPTION_CLASSIFIER } from '../../src/discovery/decorators/tokens.js';
import { ConfigurationValidationException } from '../../src/errors/configuration-validation-exception.js';
import { fromEnvironment } from '../../src/presets/index.js';
import { errorOf, type TestBus } from '../support/test-bus.spec-support.js';
import { EventBusModule } from '../../src/nest/event-bus.module.js';
import { createTestBus, orders, Orders, payments } from '../support/idle-orders.spec-support.js';

let testBus: TestBus;

beforeEach(async () => {
  testBus = await createTestBus();
});

afterEach(() => testBus.end());

describe('A wrong configuration', () => {
  const startWithMistakes = async (): Promise<unknown> => {
    @Injectable()
    class Slow {
      @EventHandler('orders', { sessionTimeoutMs: '5 parsecs' as never })
      handle(): void {}
    }
    const bus = testBus.module({
      bindings: {
        orders,
        audit: { topic: 'not a topic!', groupId: 'audit', concurency: 2 } as never,
      },
      defaults: { maxPollRecords: -1 },
    });
    const feature = EventBusModule.forFeature({
      bindings: { payments: { ...payments, ackMode: 'SOMETIMES' as never } },
    });
    const application = await testBus.compile({ imports: [bus, feature], providers: [Slow] });
    return errorOf(testBus.done(application.init()));
  };

  it('stops the start with one error that lists all mistakes in options, features and decorators', async () => {
    const error = await startWithMistakes();
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

  it('is reported together with mistakes in handlers and providers', async () => {
    @Injectable()
    class Wrong {
      @EventHandler('orders', { filter: 'x' as never, concurency: 2 } as never)
      handle(): void {}
      @EventHandler('orders')
      rival(): void {}
      @DltHandler('orders')
      handleDeadLetter(): void {}
      @DltHandler('orders')
      again(): void {}
    }
    const bus = testBus.module({ bindings: { orders: { ...orders, concurrency: 0 } } });
    const providers = [Wrong, { provide: EXCEPTION_CLASSIFIER, useValue: {} }];
    const error = await errorOf(testBus.start({ imports: [bus], providers }));
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

  it('is reported with a suggestion for a mistyped key', async () => {
    expect(String(await startWithMistakes())).toContain("Did you mean 'concurrency'?");
  });

  it('is reported before the bus joins a group or opens a client', async () => {
    await startWithMistakes();
    await testBus.runtime.advance(10_000);
    expect(await testBus.groups()).toEqual([]);
  });

  it('does not prevent that the application closes', async () => {
    await startWithMistakes();
    await expect(testBus.end()).resolves.toBeUndefined();
  });

  it('is reported if two bindings read the same topic in the same group', async () => {
    const bindings = { orders, again: orders };
    const error = await errorOf(
      testBus.start({ imports: [testBus.module({ bindings })], providers: [Orders] }),
    );
    expect(String(error)).toContain("binding 'orders' reads topic 'orders' in group 'shop' too");
  });

  it('is reported if the driver cannot write a compression, before anything is published', async () => {
    const supporting = memory({ broker: testBus.broker });
    const capabilities = { ...supporting.capabilities, compressions: ['none', 'gzip'] };
    const driver = Object.assign(Object.create(supporting) as typeof supporting, { capabilities });
    const clusters = { eu: { driver, producer: { compression: 'snappy' } } } as const;
    const bus = testBus.module({ clusters, bindings: { orders } });
    const error = await errorOf(testBus.start({ imports: [bus], providers: [Orders] }));
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

  it('is reported for all bindings in one error if the driver has no transactions', async () => {
    @Injectable()
    class Both {
      @EventHandler('orders')
      @EventHandler('payments')
      handle(): void {}
    }
    const supporting = memory({ broker: testBus.broker });
    const capabilities = { ...supporting.capabilities, transactions: false };
    const driver = Object.assign(Object.create(supporting) as typeof supporting, { capabilities });
    const transactions = { enabled: true };
    const bindings = {
      orders: { ...orders, transactions },
      payments: { ...payments, transactions },
    };
    const imports = [testBus.module({ driver, bindings })];
    const error = await errorOf(testBus.start({ imports, providers: [Both] }));
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

  it('is reported if the driver of a binding with handlers only sends', async () => {
    @Injectable()
    class Orders {
      @EventHandler('orders')
      handle(): void {}
    }
    const sending = memory({ broker: testBus.broker });
    const capabilities = { ...sending.capabilities, consumers: false };
    const driver = Object.assign(Object.create(sending) as typeof sending, { capabilities });
    const imports = [testBus.module({ driver, bindings: { orders } })];
    const error = await errorOf(testBus.start({ imports, providers: [Orders] }));
    expect(error).toMatchObject({
      violations: [
        {
          rule: 'CONSUMERS_UNSUPPORTED',
          path: 'bindings.orders.cluster',
          message:
            "the driver 'memory' of cluster 'default' only sends. Move the handlers to another cluster.",
        },
      ],
    });
  });

  it('is reported if a binding with listenerType SINGLE has a batch handler', async () => {
    @Injectable()
    class Batches {
      @EventHandler.Batch('orders')
      handle(): void {}
    }
    const bindings = { orders: { ...orders, listenerType: 'SINGLE' } } as const;
    const error = await errorOf(
      testBus.start({ imports: [testBus.module({ bindings })], providers: [Batches] }),
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

  it('is reported if brokers are missing', async () => {
    const imports = [EventBusModule.forRoot({ bindings: { orders } })];
    const error = await errorOf(testBus.start({ imports, providers: [Orders] }));
    expect(error).toMatchObject({ violations: [{ rule: 'BROKERS_MISSING', path: 'brokers' }] });
  });

  it('is reported if all options are missing', async () => {
    const error = await errorOf(testBus.start({ imports: [EventBusModule.forRoot()] }));
    expect(error).toMatchObject({ violations: [{ rule: 'BROKERS_MISSING' }] });
  });
});

describe('Options from loaders', () => {
  const start = (environment: Record<string, string>, properties: object = {}) =>
    testBus.start({
      imports: [
        testBus.module({
          loaders: [fromEnvironment(environment)],
          bindings: { orders: { topic: 'orders', ...properties } as never },
        }),
      ],
      providers: [Orders],
    });

  it('are used if the application does not set them', async () => {
    await start({ EVENTBUS_DEFAULTS_GROUP_ID: 'from-environment' });
    expect(await testBus.groups()).toEqual(['from-environment']);
  });

  it('are overridden by the options of the application', async () => {
    await start({ EVENTBUS_DEFAULTS_GROUP_ID: 'from-environment' }, { groupId: 'shop' });
    expect(await testBus.groups()).toEqual(['shop']);
  });

  it('are validated like options of the application', async () => {
    const loader = { source: 'the file', options: { defaults: { concurrency: 0 } }, unused: [] };
    const imports = [testBus.module({ loaders: [loader], bindings: { orders } })];
    const error = await errorOf(testBus.start({ imports, providers: [Orders] }));
    expect(String(error)).toContain('the file.defaults.concurrency');
  });

  it('are named in a warning if the bus does not know them', async () => {
    const unused = [{ source: 'the file', key: 'acks', reason: 'it is always all.' }];
    const loader = { source: 'the file', options: {}, unused };
    await testBus.start({
      imports: [testBus.module({ loaders: [loader], bindings: { orders } })],
      providers: [Orders],
    });
    expect(testBus.log.warnings).toContain(
      'the file sets acks, which the event bus does not use: it is always all.',
    );
  });
});
