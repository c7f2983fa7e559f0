import {
  complaintsOf,
  orders,
  resolvedOrders,
  violationsOf,
} from '../configuration.spec-support.js';
import { PRESET_NAMES } from '../reading/preset-name.js';
import { resolveOptions, type OptionLayers } from '../resolving/resolve-options.js';
import { MISTAKES, naming, REGISTRY, WARNINGS } from './ineffective-settings.spec-support.js';

const complaints = (...given: Parameters<typeof resolvedOrders>) =>
  complaintsOf(() => resolvedOrders(...given));
const warnings = (properties: object, options: object = {}, layers: OptionLayers = {}) =>
  resolveOptions(orders(properties, options), layers).ineffective;

describe('An option without effect because of another option', () => {
  it.each(MISTAKES)('%s is refused: %j', (key, given, why, remedy) => {
    expect(complaints(given)).toEqual([`NO_EFFECT bindings.orders.${key}: has no effect: ${why}`]);
    expect(complaints({ ...given, ...remedy })).toEqual([]);
  });

  it.each(WARNINGS)('%s causes a warning: %j', (key, given, why, remedy) => {
    expect(warnings(given)).toEqual([`bindings.orders.${key} (the options) has no effect: ${why}`]);
    expect(warnings({ ...given, ...remedy })).toEqual([]);
  });

  it.each([...MISTAKES, ...WARNINGS].filter(([key]) => !key.startsWith('retry.tiers')))(
    'is not reported if it is set in the defaults of all bindings: %s',
    (_, given) => {
      expect(complaints({}, { defaults: given })).toEqual([]);
      const reported = warnings({}, { defaults: given }).filter(
        (line) => !line.includes('trusted'),
      );
      expect(reported).toEqual([]);
    },
  );

  it('is not reported if it has the default value', () => {
    const usual = {
      strictExhaustion: 'DLT',
      batchFailureStrategy: 'SEEK_TO_FAILED',
      topics: { partitions: 0 },
      retry: { tiers: [{ topicSuffix: 'retry-{n}' }] },
      naming,
    };
    expect(warnings(usual)).toEqual([]);
  });

  it('is not reported if it comes from a preset', () => {
    for (const preset of PRESET_NAMES) {
      expect(warnings({ preset })).toEqual([]);
      expect(warnings({ preset, listenerType: 'BATCH' })).toEqual([]);
      expect(warnings({ preset, retry: { tier0: { maxAttempts: 1 } } })).toEqual([]);
    }
  });

  it('is reported without the credentials of the schema registry', () => {
    const { timeoutMs: _, ...secrets } = REGISTRY;
    const violations = violationsOf(() =>
      resolvedOrders({ schemaRegistry: { ...secrets, url: undefined } }),
    );
    expect(violations).toHaveLength(3);
    expect(JSON.stringify(violations)).not.toContain('secret');
  });

  it('is reported once, if several options remove its effect', () => {
    const retry = { mode: 'seek', tiers: [], onBudgetExceeded: 'NEXT_TIER' };
    expect(warnings({ retry })).toHaveLength(1);
  });

  it('is not reported if a decorator sets it together with the other option, and the application overrides the other option', () => {
    const properties = { strictExhaustion: 'PAUSE_PARTITION', orderingMode: 'STRICT' } as const;
    const handlers = [{ binding: 'orders', source: '@EventHandler on Orders.on', properties }];
    const relaxed = { orderingMode: 'RELAXED_IN_RETRY' } as const;
    expect(complaints(relaxed, {}, { handlers })).toEqual([]);
    expect(complaints({}, {}, { handlers })).toEqual([]);
  });

  it('causes a warning if a naming strategy for all bindings makes it ineffective', () => {
    const loaders = [{ defaults: { naming } }];
    const rest = 'has no effect: naming names the topics: leave the suffix out, or the strategy.';
    const given = { dlt: { topicSuffix: 'dead' }, retry: { tiers: [{ topicSuffix: 'soon' }] } };
    expect(warnings(given, {}, { loaders })).toEqual([
      `bindings.orders.dlt.topicSuffix (the options) ${rest}`,
      `bindings.orders.retry.tiers[0].topicSuffix (the options) ${rest}`,
    ]);
  });

  it('causes one warning if the defaults set trustedPackages and no binding reads typed JSON', () => {
    const defaults = { typedJson: { trustedPackages: ['com.shop.*'] } };
    const types = { 'com.shop.Order': class {} };
    const bindings = { other: { topic: 'other', groupId: 'other' } };
    const warningsOf = (loaders: object[], typedJson?: object) =>
      resolveOptions(
        { brokers: 'a:1', bindings: { ...bindings, ...orders({ typedJson }).bindings } },
        { loaders },
      ).ineffective;
    expect(warningsOf([{ defaults }])).toEqual([
      'loaders[0].defaults.typedJson.trustedPackages has no effect: no binding reads typed JSON. Register classes in typedJson.types.',
    ]);
    expect(warningsOf([{ defaults }], { types })).toEqual([]);
    expect(warningsOf([])).toEqual([]);
  });

  it('is not reported if its own value is invalid', () => {
    const complained = complaints({ groupInstanceId: 'shop' });
    expect(complained).toHaveLength(1);
    expect(complained[0]).toMatch(/^TEXT bindings\.orders\.groupInstanceId: must be /);
  });
});
