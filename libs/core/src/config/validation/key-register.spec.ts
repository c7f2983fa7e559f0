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

/** `maxAttempts` alone could be that of tier0 or that of a tier; `[]` and the names of the user are no words. */
const lastTwo = (key: string): readonly string[] =>
  key
    .replaceAll(/\[\]|^\w+\.\*\./g, '')
    .split('.')
    .slice(-2);

describe('The key register', () => {
  it('has every key of the options, and no other', () => {
    const declared = keyPaths(EventBusProperties).filter((key) => !key.startsWith('defaults.'));
    expect(KEY_REGISTER.map(({ key }) => key).sort()).toEqual([...declared].sort());
  });

  it('knows that defaults take every key of a binding but the topic', () => {
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
    'names where the effect of %s is tested: %s',
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

describe('A key without an effect', () => {
  it('is told when somebody asks for it', () => {
    expect(pendingKeys({ dlt: { replay: { maxReplays: 5 } } })).toEqual([
      {
        key: 'dlt.replay.maxReplays',
        path: 'bindings.orders.dlt.replay.maxReplays',
        source: 'the options',
      },
    ]);
  });

  it('is told of a single value that nothing does yet', () => {
    const found = pendingKeys({ dlt: { strategy: 'SCHEDULED_REPLAY' } });
    expect(found.map(({ path }) => path)).toEqual(['bindings.orders.dlt.strategy']);
    expect(pendingKeys({ dlt: { strategy: 'CUSTOM' } })).toEqual([]);
  });

  it('is told once for the defaults and for a preset, however many bindings there are', () => {
    const options = {
      brokers: 'a:1',
      defaults: { preset: 'strategy-reconciliation', dlt: { replay: { batchSize: 7 } } },
      bindings: { a: { topic: 'a', groupId: 'g' }, b: { topic: 'b', groupId: 'g' } },
    } as const;
    expect(resolveOptions(options).pendingKeys.map(({ path }) => path)).toEqual([
      'defaults.dlt.replay.batchSize',
    ]);
  });

  it('is no news where it asks for what happens anyway', () => {
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

  it('is none of those that work', () => {
    const working = resolvedOrders({ concurrency: 2, ackMode: 'MANUAL', offsetReset: 'latest' });
    expect(working.concurrency).toBe(2);
    expect(pendingKeys({ concurrency: 2, ackMode: 'MANUAL', offsetReset: 'latest' })).toEqual([]);
  });
});
