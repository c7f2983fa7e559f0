import { Injectable, type ModuleMetadata } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { ConfigurationValidationException } from '../../src/errors/configuration-validation-exception.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus, errorOf } from '../support/test-bus.spec-support.js';
import { EventBusModule } from '../../src/nest/event-bus.module.js';
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

describe('A feature', () => {
  const withRoot = (...imports: NonNullable<ModuleMetadata['imports']>): Promise<TestingModule> =>
    testBus.start({
      imports: [testBus.module({ bindings: orders }), ...imports],
      providers: [Orders, Payments],
    });
  const expectBothToBeRead = async (): Promise<void> => {
    await testBus.write('orders', '1');
    await testBus.write('payments', '2');
    expect(handled).toEqual(['orders 1', 'payments 2']);
  };

  it('adds its bindings to those of the root', async () => {
    await withRoot(moduleOf({ imports: [EventBusModule.forFeature({ bindings: payments })] }));
    await expectBothToBeRead();
  });

  it('may be imported before the root', async () => {
    const feature = moduleOf({ imports: [EventBusModule.forFeature({ bindings: payments })] });
    const bus = testBus.module({ bindings: orders });
    await testBus.start({ imports: [feature, bus], providers: [Orders, Payments] });
    await expectBothToBeRead();
  });

  it('is found by a bus that is not global', async () => {
    const bus = EventBusModule.forRoot({ ...testBus.options(orders), isGlobal: false });
    const feature = moduleOf({ imports: [EventBusModule.forFeature({ bindings: payments })] });
    await testBus.start({ imports: [bus, feature], providers: [Orders, Payments] });
    await expectBothToBeRead();
  });

  it('may be created by a factory with injected values', async () => {
    const topics = { providers: [{ provide: 'TOPIC', useValue: 'payments' }], exports: ['TOPIC'] };
    const feature = EventBusModule.forFeatureAsync({
      imports: [moduleOf(topics)],
      inject: ['TOPIC'],
      useFactory: (topic: string) =>
        Promise.resolve({ bindings: { payments: { topic, groupId: 'shop-payments' } } }),
    });
    await withRoot(moduleOf({ imports: [feature] }));
    await expectBothToBeRead();
  });

  it('may be one of several in the same module', async () => {
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
    await expectBothToBeRead();
    await testBus.write('refunds', '3');
    expect(handled).toContain('refunds');
  });

  it('counts once if two modules import it', async () => {
    const feature = EventBusModule.forFeature({ bindings: payments });
    await withRoot(moduleOf({ imports: [feature] }), moduleOf({ imports: [feature] }));
    await expectBothToBeRead();
  });

  it.each([
    ['the root has too', orders],
    ['another feature has too', payments],
  ])('must not have a binding that %s', async (_name, bindings) => {
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
  ])('is refused without a root: %s', async (_name, imports) => {
    const error = await errorOf(testBus.start({ imports: imports(), providers: [Payments] }));
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
  ])('is refused with its name if its factory returns %s', async (_name, useFactory) => {
    const feature = EventBusModule.forFeatureAsync({ useFactory: useFactory as never });
    const error = await errorOf(withRoot(feature));
    expect(error).toMatchObject({ code: 'CONFIGURATION_INVALID' });
    expect(String(error)).toContain('forFeature');
  });
});
