import { orders, resolvedOrders } from '../configuration.spec-support.js';
import { PRESETS } from '../reading/presets.js';
import { fromEnvironment } from '../../presets/from-environment.js';
import { fromConfigTree } from '../../presets/from-config-tree.js';
import { resolveOptions } from './resolve-options.js';

// The presets are frozen; a copy lets a test give one of them a circuit breaker.
jest.mock('../reading/presets.js', () => ({
  PRESETS: { ...jest.requireActual<{ PRESETS: object }>('../reading/presets.js').PRESETS },
}));

const isEnabled = (...given: Parameters<typeof resolvedOrders>): boolean =>
  resolvedOrders(...given).circuitBreaker.enabled;
const circuitBreaker = { failureRateThreshold: 30 };

describe('A circuit breaker that is configured', () => {
  it('is enabled by any key of the binding', () => {
    expect(isEnabled()).toBe(false);
    for (const given of [circuitBreaker, { automaticPauseOnOpen: true }, {}])
      expect(isEnabled({ circuitBreaker: given })).toBe(true);
  });

  it('is enabled by the defaults of the application', () => {
    expect(isEnabled({}, { defaults: { circuitBreaker } })).toBe(true);
  });

  it('is enabled by a decorator', () => {
    const handlers = [{ binding: 'orders', source: '@A', properties: { circuitBreaker } }];
    expect(isEnabled({}, {}, { handlers })).toBe(true);
  });

  it('is enabled by the environment, for one binding or for all', () => {
    for (const prefix of ['EVENTBUS_BINDINGS_ORDERS', 'EVENTBUS_DEFAULTS']) {
      const variable = `${prefix}_CIRCUIT_BREAKER_FAILURE_RATE_THRESHOLD`;
      const loaders = [fromEnvironment({ [variable]: '30' })];
      expect(isEnabled({}, { loaders })).toBe(true);
    }
  });

  it('is enabled by a configuration tree', () => {
    const loaders = [fromConfigTree({ eventbus: { defaults: { circuitBreaker } } })];
    expect(isEnabled({}, { loaders })).toBe(true);
  });

  it('stays disabled if the application says so, wherever the rest is configured', () => {
    const disabled = { circuitBreaker: { enabled: false } };
    expect(isEnabled({ circuitBreaker: { ...circuitBreaker, enabled: false } })).toBe(false);
    expect(isEnabled(disabled, { defaults: { circuitBreaker } })).toBe(false);
    expect(isEnabled({ circuitBreaker }, { defaults: disabled })).toBe(false);
    const loaders = [fromEnvironment({ EVENTBUS_DEFAULTS_CIRCUIT_BREAKER_ENABLED: 'false' })];
    expect(isEnabled({ circuitBreaker }, { loaders })).toBe(false);
  });

  it('causes a warning if it is disabled by a lower source', () => {
    const defaults = { circuitBreaker: { enabled: false } };
    expect(resolveOptions(orders({ circuitBreaker }, { defaults })).ineffective).toEqual([
      'bindings.orders.circuitBreaker.failureRateThreshold (the options) has no effect: circuitBreaker.enabled is false: leave that out, or set it to true.',
    ]);
  });
});

describe('A preset with values for the circuit breaker', () => {
  const { connector } = PRESETS;
  afterEach(() => Object.assign(PRESETS, { connector }));

  const isEnabledWith = (values: object, own: object = {}): boolean => {
    Object.assign(PRESETS, { connector: { ...connector, binding: { circuitBreaker: values } } });
    return isEnabled(own);
  };

  it('enables it only if the preset sets enabled', () => {
    expect(isEnabledWith(circuitBreaker)).toBe(false);
    expect(isEnabledWith({ ...circuitBreaker, enabled: true })).toBe(true);
  });

  it('does not keep the application from enabling it', () => {
    expect(isEnabledWith({ ...circuitBreaker, enabled: false }, { circuitBreaker })).toBe(true);
  });
});
