import { Injectable, Module, Scope, type Provider } from '@nestjs/common';
import {
  EXCEPTION_CLASSIFIER,
  TOPIC_NAMING_STRATEGY,
} from '../../src/discovery/decorators/tokens.js';
import { errorOf, type TestBus } from '../support/test-bus.spec-support.js';
import { createTestBus, orders, Orders } from '../support/idle-orders.spec-support.js';

let testBus: TestBus;

beforeEach(async () => {
  testBus = await createTestBus();
});

afterEach(() => testBus.end());

describe('A provider for all bindings', () => {
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
    errorOf(testBus.startOrders([Orders, Counter, ...providers]));
  const classifier = { classify: () => undefined };
  const naming = { retryTopic: () => 'a', deadLetterTopic: () => 'b' };

  it.each([
    [EXCEPTION_CLASSIFIER, 'EXCEPTION_CLASSIFIER', 'a method classify(error, currentTier)'],
    [
      TOPIC_NAMING_STRATEGY,
      'TOPIC_NAMING_STRATEGY',
      'the methods retryTopic(topic, tier) and deadLetterTopic(topic)',
    ],
  ])('is refused without the required methods: %p', async (provide, path, methods) => {
    const useValue = { classfy: () => undefined, retryTopic: () => 'a' };
    expect(await refusal({ provide, useValue })).toMatchObject({
      violations: [{ rule: 'PROVIDER', path, message: `must be an object with ${methods}.` }],
    });
  });

  it.each([
    ['request-scoped', { useClass: Scoped }],
    ['transient', { useFactory: () => classifier, scope: Scope.TRANSIENT }],
  ])('is refused if it is %s, because the bus needs one instance', async (_what, made) => {
    for (const provide of [EXCEPTION_CLASSIFIER, TOPIC_NAMING_STRATEGY]) {
      expect(await refusal({ provide, ...made })).toMatchObject({
        violations: [
          {
            rule: 'PROVIDER',
            message:
              'is request-scoped or transient, but the event bus needs one instance for the whole application. Make it a singleton, and all that it injects.',
          },
        ],
      });
    }
  });

  it.each([
    [EXCEPTION_CLASSIFIER, classifier],
    [TOPIC_NAMING_STRATEGY, naming],
  ])('is refused if two modules provide different instances: %p', async (provide, one) => {
    @Module({ providers: [{ provide, useValue: { ...one } }] })
    class Elsewhere {}
    const imports = [testBus.module({ bindings: { orders } }), Elsewhere];
    const providers = [Orders, { provide, useValue: one }];
    const error = await errorOf(testBus.start({ imports, providers }));
    expect(String(error)).toMatch(/is provided 2 times, in (RootTestModule|Elsewhere) and/);
  });

  it('may be undefined, or be provided under an alias', async () => {
    @Injectable()
    class Aliased {
      classify(): void {}
    }
    const nothing = { provide: TOPIC_NAMING_STRATEGY, useValue: undefined };
    const alias = { provide: EXCEPTION_CLASSIFIER, useExisting: Aliased };
    expect(await refusal(nothing, Aliased, alias)).toBeUndefined();
  });
});
