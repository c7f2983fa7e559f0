import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { resolvedOrders, orders } from '../configuration.spec-support.js';
import { EventBusProperties } from '../properties/event-bus-properties.js';
import { KEY_REGISTER } from './key-register.js';
import { keyPaths } from '../properties/property-tree.js';
import { resolveOptions } from '../resolving/resolve-options.js';

const source = join(__dirname, '../..');
const pendingKeys = (properties: object, options: object = {}) =>
  resolveOptions(orders(properties, options)).pendingKeys;

describe('KEY_REGISTER', () => {
  it('contains every key of the options, and no other key', () => {
    const declared = keyPaths(EventBusProperties).filter((key) => !key.startsWith('defaults.'));
    expect(KEY_REGISTER.map(({ key }) => key).sort()).toEqual([...declared].sort());
  });

  it('names a test of the default for every key of a binding except the topic', () => {
    const keys = keyPaths(EventBusProperties);
    const below = (prefix: string) =>
      keys.filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
    expect([...below('defaults.'), 'topic'].sort()).toEqual(below('bindings.*.').sort());
  });

  it.each([...new Set(KEY_REGISTER.map((entry) => entry.default))])(
    'names %s as the test of defaults only for keys that this test mentions',
    (file) => {
      const text = readFileSync(join(source, file), 'utf8');
      const keys = KEY_REGISTER.filter((entry) => entry.default === file).map(({ key }) => key);
      const unmentioned = keys.filter((key) => !text.includes(key.split('.').at(-1) ?? key));
      expect(unmentioned).toEqual([]);
    },
  );

  // `npm run break-options` proves that the test fails without the option.
  it.each(
    [...new Set(KEY_REGISTER.map(({ effect }) => effect))].filter((file) => file !== 'pending'),
  )('names an existing test of an effect: %s', (file) => {
    expect(existsSync(join(source, file))).toBe(true);
  });

  it('names a test for every key that has an effect', () => {
    const untested = KEY_REGISTER.filter(({ effect }) => !/^pending$|\.spec\.ts$/.test(effect));
    expect(untested).toEqual([]);
  });
});

describe('keysWithoutEffect()', () => {
  it('reports a value that has no effect yet although other values of its key have one', () => {
    expect(pendingKeys({ dlt: { strategy: 'SCHEDULED_REPLAY' } })).toEqual([
      { key: 'dlt.strategy', path: 'bindings.orders.dlt.strategy', source: 'the options' },
    ]);
    expect(pendingKeys({ dlt: { strategy: 'CUSTOM' } })).toEqual([]);
  });

  it('reports an option of the defaults once, however many bindings use the defaults', () => {
    const options = {
      brokers: 'a:1',
      defaults: { preset: 'strategy-reconciliation', dlt: { strategy: 'SCHEDULED_REPLAY' } },
      bindings: { a: { topic: 'a', groupId: 'g' }, b: { topic: 'b', groupId: 'g' } },
    } as const;
    expect(resolveOptions(options).pendingKeys.map(({ path }) => path)).toEqual([
      'defaults.dlt.strategy',
    ]);
  });

  it('reports nothing if the option asks for the current behaviour', () => {
    const nothing = {
      staticMembership: false,
      orderingMode: 'RELAXED_IN_RETRY',
      circuitBreaker: { enabled: false },
      dlt: { verifyTopic: false },
      retry: { tiers: [], retryableExceptions: [] },
    };
    expect(pendingKeys(nothing)).toEqual([]);
    expect(pendingKeys({})).toEqual([]);
  });

  it('reports no option that has an effect', () => {
    const working = resolvedOrders({ concurrency: 2, ackMode: 'MANUAL', offsetReset: 'latest' });
    expect(working.concurrency).toBe(2);
    expect(pendingKeys({ concurrency: 2, ackMode: 'MANUAL', offsetReset: 'latest' })).toEqual([]);
  });
});
