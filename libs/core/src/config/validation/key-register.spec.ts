import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { resolvedOrders, orders } from '../configuration.spec-support.js';
import { EventBusProperties } from '../properties/event-bus-properties.js';
import { KEY_REGISTER } from './key-register.js';
import { keyPaths } from '../properties/property-tree.js';
import { resolveOptions } from '../resolving/resolve-options.js';

const source = join(__dirname, '../..');
const pendingKeys = (properties: object, options: object = {}) =>
  resolveOptions(orders(properties, options)).pendingKeys;

/**
 * Words that must occur in the test of a key. The last word alone is ambiguous, as `maxAttempts` of
 * tier0 and of a tier; `[]` and `*` are no words.
 */
const lastTwo = (key: string): readonly string[] =>
  key
    .replaceAll(/\[\]|^\w+\.\*\./g, '')
    .split('.')
    .slice(-2);

describe('KEY_REGISTER', () => {
  it('has exactly the keys of the options', () => {
    const declared = keyPaths(EventBusProperties).filter((key) => !key.startsWith('defaults.'));
    expect(KEY_REGISTER.map(({ key }) => key).sort()).toEqual([...declared].sort());
  });

  it('has defaults for every key of a binding except the topic', () => {
    const keys = keyPaths(EventBusProperties);
    const below = (prefix: string) =>
      keys.filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
    expect([...below('defaults.'), 'topic'].sort()).toEqual(below('bindings.*.').sort());
  });

  it.each([...new Set(KEY_REGISTER.map((entry) => entry.default))])(
    'names the test of a default: %s',
    (file) => {
      const text = readFileSync(join(source, file), 'utf8');
      const keys = KEY_REGISTER.filter((entry) => entry.default === file).map(({ key }) => key);
      const unmentioned = keys.filter((key) => !text.includes(key.split('.').at(-1) ?? key));
      expect(unmentioned).toEqual([]);
    },
  );

  it.each(KEY_REGISTER.filter(({ effect }) => effect !== 'pending').map((e) => [e.key, e.effect]))(
    'names the test of the effect of %s: %s',
    (key, file) => {
      const text = readFileSync(join(source, file), 'utf8');
      const unmentioned = lastTwo(key).filter((name) => !new RegExp(`\\b${name}\\b`).test(text));
      expect(unmentioned).toEqual([]);
    },
  );

  it('has a test for every effect', () => {
    const untested = KEY_REGISTER.filter(({ effect }) => !/^pending$|\.spec\.ts$/.test(effect));
    expect(untested).toEqual([]);
  });
});

describe('keysWithoutEffect()', () => {
  it('reports an option that has no effect yet', () => {
    expect(pendingKeys({ dlt: { replay: { maxReplays: 5 } } })).toEqual([
      {
        key: 'dlt.replay.maxReplays',
        path: 'bindings.orders.dlt.replay.maxReplays',
        source: 'the options',
      },
    ]);
  });

  it('reports a single value that has no effect yet', () => {
    const keys = pendingKeys({ dlt: { strategy: 'SCHEDULED_REPLAY' } });
    expect(keys.map(({ path }) => path)).toEqual(['bindings.orders.dlt.strategy']);
    expect(pendingKeys({ dlt: { strategy: 'CUSTOM' } })).toEqual([]);
  });

  it('reports an option of the defaults and a preset once, regardless of the bindings', () => {
    const options = {
      brokers: 'a:1',
      defaults: { preset: 'strategy-reconciliation', dlt: { replay: { batchSize: 7 } } },
      bindings: { a: { topic: 'a', groupId: 'g' }, b: { topic: 'b', groupId: 'g' } },
    } as const;
    expect(resolveOptions(options).pendingKeys.map(({ path }) => path)).toEqual([
      'defaults.dlt.replay.batchSize',
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
