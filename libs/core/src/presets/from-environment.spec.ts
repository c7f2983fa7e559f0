import { resolveOptions } from '../config/resolving/resolve-options.js';
import { fromEnvironment } from './from-environment.js';

class IoError extends Error {}
class BusyError extends Error {}
class LateError extends Error {}

describe('fromEnvironment()', () => {
  it('sets any key, converted to its type', () => {
    const { options, unused } = fromEnvironment({
      PATH: '/bin',
      EVENTBUS_ENABLED: 'if-configured',
      EVENTBUS_BROKERS: 'a:1,b:2',
      EVENTBUS_BINDINGS_WITHOUT_HANDLER: 'allow',
      EVENTBUS_CLUSTERS_EU_BROKERS: 'eu:1',
      EVENTBUS_CLUSTERS_EU_SSL: 'true',
      EVENTBUS_DEFAULTS_MAX_POLL_INTERVAL_MS: '10m',
      EVENTBUS_SHUTDOWN_DRAIN_TIMEOUT_MS: '5000',
      EVENTBUS_BINDINGS_ORDERS_TOPIC: 'orders.events',
      EVENTBUS_BINDINGS_ORDERS_GROUP_ID: 'order-service',
      EVENTBUS_BINDINGS_ORDERS_CONCURRENCY: '3',
      EVENTBUS_BINDINGS_ORDERS_AUTO_STARTUP: 'false',
      EVENTBUS_BINDINGS_ORDERS_ASSIGNMENT_STRATEGY: 'range, sticky',
      EVENTBUS_BINDINGS_ORDERS_CIRCUIT_BREAKER_FAILURE_RATE_THRESHOLD: '12.5',
      EVENTBUS_BINDINGS_ORDERS_RETRY_TIER0_MAX_ATTEMPTS: '4',
      EVENTBUS_BINDINGS_ORDERS_RETRY_TIERS_0_DELAY_MS: '2s',
      EVENTBUS_BINDINGS_ORDERS_RETRY_TIERS_1_DELAY_MS: '4000',
      EVENTBUS_BINDINGS_ORDERS_RETRY_RETRYABLE_EXCEPTIONS: 'TimeoutError,IoError',
      EVENTBUS_BINDINGS_ORDERS_RETRY_SKIP_TO_TIER_MAPPING: 'BusyError:2, a.b.LateError:1',
      EVENTBUS_BINDINGS_ORDERS_DLT_TOPIC: 'orders.dead',
      EVENTBUS_BINDINGS_ORDERS_OFFSET_RESET: '',
    });
    expect(unused).toEqual([]);
    expect(options).toEqual({
      enabled: 'if-configured',
      bindingsWithoutHandler: 'allow',
      brokers: 'a:1,b:2',
      clusters: { eu: { brokers: 'eu:1', ssl: true } },
      defaults: { maxPollIntervalMs: '10m' },
      shutdown: { drainTimeoutMs: 5_000 },
      bindings: {
        orders: {
          topic: 'orders.events',
          groupId: 'order-service',
          concurrency: 3,
          autoStartup: false,
          assignmentStrategy: ['range', 'sticky'],
          circuitBreaker: { failureRateThreshold: 12.5 },
          retry: {
            tier0: { maxAttempts: 4 },
            tiers: [{ delayMs: '2s' }, { delayMs: 4_000 }],
            retryableExceptions: ['TimeoutError', 'IoError'],
            skipToTierMapping: [
              { match: 'BusyError', tier: 2 },
              { match: 'a.b.LateError', tier: 1 },
            ],
          },
          dlt: { topic: 'orders.dead' },
        },
      },
    });
    const errorTypes = { IoError, BusyError, LateError };
    expect(resolveOptions({ ...options, errorTypes }).bindings[0]?.retry).toMatchObject({
      tiers: [{ delayMs: 2_000 }, { delayMs: 4_000 }],
      retryableExceptions: ['TimeoutError', IoError],
      skipToTierMapping: [{ match: BusyError }, { match: LateError }],
    });
  });

  it('reads a name in lower case with dashes, unless its exact spelling is given', () => {
    const environment = { EVENTBUS_BINDINGS_ORDER_EVENTS_GROUP_ID: 'g' };
    expect(fromEnvironment(environment).options).toEqual({
      bindings: { 'order-events': { groupId: 'g' } },
    });
    expect(fromEnvironment(environment, { names: ['Order.events'] }).options).toEqual({
      bindings: { 'Order.events': { groupId: 'g' } },
    });
  });

  it('takes the shortest name that leaves a key, so that ORDERS_DLT_TOPIC is dlt.topic of orders', () => {
    const environment = { EVENTBUS_BINDINGS_ORDERS_DLT_TOPIC: 't' };
    expect(fromEnvironment(environment).options).toEqual({
      bindings: { orders: { dlt: { topic: 't' } } },
    });
    expect(fromEnvironment(environment, { names: ['orders-dlt'] }).options).toEqual({
      bindings: { 'orders-dlt': { topic: 't' } },
    });
  });

  it.each([
    'EVENTBUS_HOME',
    'EVENTBUS_BINDINGS_ORDERS_GROPU_ID',
    'EVENTBUS_BINDINGS',
    'EVENTBUS_DEFAULTS_RETRY',
    'EVENTBUS_DEFAULTS_RETRY_TIERS_X_DELAY_MS',
    'EVENTBUS_BINDINGS_ORDERS_TOPIC_EXTRA',
  ])('lists %s, which matches no key, as unused', (key) => {
    expect(fromEnvironment({ [key]: 'x' })).toEqual({
      source: 'environment',
      options: {},
      unused: [{ source: 'environment', key, reason: 'no option has this name' }],
    });
  });

  it('accepts another prefix', () => {
    const { options } = fromEnvironment({ SHOP_BROKERS: 'a:1' }, { prefix: 'SHOP' });
    expect(options).toEqual({ brokers: 'a:1' });
  });

  it('hands on a text that is no number, so that the validator refuses it', () => {
    const { options } = fromEnvironment({ EVENTBUS_DEFAULTS_CONCURRENCY: 'three' });
    expect(options).toEqual({ defaults: { concurrency: 'three' } });
  });
});
