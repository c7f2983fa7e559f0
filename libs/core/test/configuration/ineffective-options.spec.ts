import { Injectable } from '@nestjs/common';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { EXCEPTION_CLASSIFIER } from '../../src/discovery/decorators/tokens.js';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { fromEnvironment } from '../../src/presets/from-environment.js';
import { errorOf, TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;

@Injectable()
class Orders {
  @EventHandler('orders')
  onOrder(): void {}
}

beforeEach(() => {
  testBus = new TestBus();
});

afterEach(() => testBus.end());

const classifierProvider = {
  provide: EXCEPTION_CLASSIFIER,
  useValue: { classify: () => undefined },
};
const warnings = (): readonly string[] =>
  testBus.log.warnings.filter((line) => line.includes('has no effect'));

describe('A circuit breaker that only the environment configures', () => {
  it('watches the binding', async () => {
    const variable = 'EVENTBUS_DEFAULTS_CIRCUIT_BREAKER_FAILURE_RATE_THRESHOLD';
    const loaders = [fromEnvironment({ [variable]: '30' })];
    const application = await testBus.startOrders([Orders], {}, { loaders });
    const { circuitBreaker } = application.get(ContainerRegistry).require('orders');
    expect(circuitBreaker.current?.state).toBe('CLOSED');
  });
});

describe('An option without effect', () => {
  it('is named in a warning at start', async () => {
    await testBus.startOrders([Orders], { dlt: { verifyTopic: true } });
    expect(warnings()).toEqual([
      "bindings.orders.dlt.verifyTopic (the options) has no effect: provisioning is not 'none', and checks the dead-letter topic anyway: leave verifyTopic out.",
    ]);
  });

  it('is named if a provider of the application replaces the rules', async () => {
    const exceptionRouting = [{ match: RangeError, routing: 'DEAD_LETTER' }];
    await testBus.startOrders([Orders, classifierProvider], { exceptionRouting });
    expect(warnings()).toEqual([
      expect.stringContaining('bindings.orders.exceptionRouting (the options) has no effect'),
    ]);
  });

  it('stops the start if it is certainly a mistake', async () => {
    const started = testBus.startOrders([Orders], { schemaRegistry: { timeoutMs: '1s' } });
    expect(String(await errorOf(started))).toContain(
      'bindings.orders.schemaRegistry.timeoutMs: has no effect: schemaRegistry.url is missing',
    );
  });

  it('is named for a binding that is registered at run time', async () => {
    const application = await testBus.startOrders([Orders]);
    const properties = { topic: 'late', groupId: 'late', retry: { poisonAfter: 1_000 } };
    const connector = application.get(EventBusConnector);
    await testBus.done(connector.register('late', properties, () => undefined));
    expect(warnings()).toEqual([
      expect.stringContaining('bindings.late.retry.poisonAfter (the registration) has no effect'),
    ]);
  });
});
