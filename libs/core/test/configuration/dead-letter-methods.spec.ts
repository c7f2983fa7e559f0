import { Injectable } from '@nestjs/common';
import { DltAlert, DltHandler } from '../../src/discovery/decorators/dlt-decorators.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { DltRecord } from '../../src/model/records/dlt-record.js';
import { errorOf, TestBus } from '../support/test-bus.spec-support.js';
import { createTestBus, orders, Orders, payments } from '../support/idle-orders.spec-support.js';

let testBus: TestBus;

beforeEach(async () => {
  testBus = await createTestBus();
});

afterEach(() => testBus.end());

describe('A dead-letter method that no dlt.strategy calls', () => {
  @Injectable()
  class DeadLetterMethods {
    @DltHandler('orders')
    handleDeadLetter(): void {}
    @DltAlert('orders')
    alert(): void {}
    @DltAlert()
    alertForAll(): void {}
  }
  const warningsOfUncalledMethods = async (
    strategy?: 'CUSTOM' | 'ALERT_AND_STORE',
  ): Promise<readonly string[]> => {
    await testBus.startOrders([Orders, DeadLetterMethods], strategy ? { dlt: { strategy } } : {});
    return testBus.log.warnings.filter((text) => text.includes(' is never called: '));
  };
  const HANDLER =
    "@DltHandler on DeadLetterMethods.handleDeadLetter in RootTestModule is never called: binding 'orders' has no dlt.strategy 'CUSTOM'.";
  const ALERTS = [
    "@DltAlert on DeadLetterMethods.alert in RootTestModule is never called: binding 'orders' has no dlt.strategy 'ALERT_AND_STORE'.",
    "@DltAlert on DeadLetterMethods.alertForAll in RootTestModule is never called: no binding has dlt.strategy 'ALERT_AND_STORE'.",
  ];

  it('is named in a warning at start', async () => {
    expect(await warningsOfUncalledMethods()).toEqual([HANDLER, ...ALERTS]);
  });

  it('is not named if dlt.strategy calls it', async () => {
    expect(await warningsOfUncalledMethods('CUSTOM')).toEqual(ALERTS);
    await testBus.end();
    testBus = new TestBus();
    expect(await warningsOfUncalledMethods('ALERT_AND_STORE')).toEqual([HANDLER]);
  });

  it('is not named if the bus is switched off', async () => {
    const bus = testBus.module({ enabled: false, bindings: { orders } });
    await testBus.start({ imports: [bus], providers: [Orders, DeadLetterMethods] });
    expect(testBus.log.warnings.join()).not.toContain('is never called');
  });
});

describe('A dead-letter method that names a cluster', () => {
  @Injectable()
  class OfACluster {
    @DltHandler('tenants', { cluster: 'default' })
    handleDeadLetter(): void {}
    @DltHandler('orders', { cluster: 'default' })
    handleOrder(): void {}
  }

  it('is named in a warning only if its binding exists, because one may be registered later', async () => {
    await testBus.startOrders([Orders, OfACluster]);
    const uncalled = testBus.log.warnings.filter((text) => text.includes(' is never called: '));
    expect(uncalled).toEqual([expect.stringContaining('OfACluster.handleOrder')]);
  });
});

describe('A dead-letter handler of one binding', () => {
  it('is not asked about the dead letters of another binding', async () => {
    const asked: string[] = [];
    const fail = (): never => {
      throw new Error('no');
    };
    @Injectable()
    class Shop {
      @EventHandler('orders')
      onOrder(): never {
        return fail();
      }
      @EventHandler('payments')
      onPayment(): never {
        return fail();
      }
      @DltHandler('orders')
      orderLetter({ originalTopic }: DltRecord): void {
        asked.push(`orders: ${originalTopic}`);
      }
      @DltHandler('payments')
      paymentLetter({ originalTopic }: DltRecord): void {
        asked.push(`payments: ${originalTopic}`);
      }
    }
    const custom = {
      retry: { tier0: { maxAttempts: 1 }, tiers: [] },
      dlt: { strategy: 'CUSTOM' },
    } as const;
    const bindings = { orders: { ...orders, ...custom }, payments: { ...payments, ...custom } };
    await testBus.start({ imports: [testBus.module({ bindings })], providers: [Shop] });
    await testBus.write('payments', '1');
    await testBus.runtime.advance(1_000);
    expect(asked).toEqual(['payments: payments']);
  });
});

describe('A dead-letter method for an unknown binding or cluster', () => {
  const refusal = async (decorate: MethodDecorator): Promise<unknown> => {
    @Injectable()
    class DeadLetterMethods {
      @decorate
      handleDeadLetter(): void {}
    }
    return errorOf(
      testBus.startOrders([Orders, DeadLetterMethods], { dlt: { strategy: 'CUSTOM' } }),
    );
  };
  const handleDeadLetter = 'DeadLetterMethods.handleDeadLetter in RootTestModule';

  it.each([
    [
      DltHandler('ordres'),
      `${handleDeadLetter} is for dead letters of binding 'ordres', which is not configured. Did you mean 'orders'? For a binding that is registered at run time, name its cluster, too: { cluster: 'default' }.`,
    ],
    [
      DltAlert('shipments'),
      `${handleDeadLetter} is for dead letters of binding 'shipments', which is not configured. Configured are: orders. For a binding that is registered at run time, name its cluster, too: { cluster: 'default' }.`,
    ],
    [
      DltAlert('orders', { cluster: 'defualt' }),
      `${handleDeadLetter} is for dead letters of cluster 'defualt', which is not configured. Did you mean 'default'?`,
    ],
    [
      DltHandler(undefined as never),
      `${handleDeadLetter}: it names no binding. Give it the name of one.`,
    ],
    [DltAlert(7 as never), `${handleDeadLetter}: it names no binding. Give it the name of one.`],
  ])('stops the start of the application', async (decorate, problem) => {
    expect(await refusal(decorate as MethodDecorator)).toMatchObject({
      code: 'HANDLER_DISCOVERY',
      problems: [problem],
    });
  });

  it('does not stop the start of the application if the bus is switched off', async () => {
    @Injectable()
    class DeadLetterMethods {
      @DltAlert('ordres')
      handleDeadLetter(): void {}
    }
    const bus = testBus.module({ enabled: false, bindings: { orders } });
    const starting = testBus.start({ imports: [bus], providers: [Orders, DeadLetterMethods] });
    expect(await errorOf(starting)).toBeUndefined();
  });
});

describe('A dlt.strategy without a method that implements it', () => {
  @Injectable()
  class DeadLetterMethods {
    @DltHandler('orders')
    handleDeadLetter(): void {}
    @DltAlert()
    alertForAll(): void {}
  }
  const warningsOfMissingMethods = async (
    strategy: 'CUSTOM' | 'ALERT_AND_STORE',
    providers: readonly (typeof DeadLetterMethods)[] = [],
  ): Promise<readonly string[]> => {
    await testBus.startOrders([Orders, ...providers], { dlt: { strategy } });
    return testBus.log.warnings.filter((text) => text.includes('only stored'));
  };

  it.each([
    ['CUSTOM', '@DltHandler'],
    ['ALERT_AND_STORE', '@DltAlert'],
  ] as const)('is named in a warning at start: %s', async (strategy, decorator) => {
    expect(await warningsOfMissingMethods(strategy)).toEqual([
      `Binding 'orders' has dlt.strategy '${strategy}', but there is no ${decorator} for it: its dead letters are only stored. Add one, or set dlt.strategy to 'STORE_ONLY'.`,
    ]);
  });

  it.each(['CUSTOM', 'ALERT_AND_STORE'] as const)(
    'is not named if the method exists: %s',
    async (given) => {
      expect(await warningsOfMissingMethods(given, [DeadLetterMethods])).toEqual([]);
    },
  );
});
