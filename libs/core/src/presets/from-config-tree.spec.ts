import { complaintsOf } from '../config/configuration.spec-support.js';
import { resolveOptions } from '../config/resolving/resolve-options.js';
import { fromConfigTree } from './from-config-tree.js';

const YAML = {
  eventbus: {
    brokers: 'kafka:9092',
    'shut-down': undefined,
    bindings: {
      'order-events': {
        topic: 'orders.events',
        'group-id': 'order-service',
        'listener-type': 'BATCH',
        'max-poll-records': 100,
        maxPollIntervalMs: '10m',
        retry: {
          tier0: { 'max-attempts': 4 },
          tiers: [{ 'delay-ms': '2s', 'topic-suffix': 'again-{n}' }],
          'non-retryable-exceptions': ['ValidationException'],
          'skip-to-tier-mapping': { ServiceUnavailableException: 1 },
        },
        dlt: { replay: { 'cooldown-ms': '1h' } },
      },
    },
  },
};

describe('fromConfigTree()', () => {
  it('accepts keys in both spellings, and leaves names unchanged', () => {
    const { options, unused } = fromConfigTree(YAML);
    expect(unused).toEqual([]);
    expect(options).toEqual({
      brokers: 'kafka:9092',
      'shut-down': undefined,
      bindings: {
        'order-events': {
          topic: 'orders.events',
          groupId: 'order-service',
          listenerType: 'BATCH',
          maxPollRecords: 100,
          maxPollIntervalMs: '10m',
          retry: {
            tier0: { maxAttempts: 4 },
            tiers: [{ delayMs: '2s', topicSuffix: 'again-{n}' }],
            nonRetryableExceptions: ['ValidationException'],
            skipToTierMapping: [{ match: 'ServiceUnavailableException', tier: 1 }],
          },
          dlt: { replay: { cooldownMs: '1h' } },
        },
      },
    });
  });

  it('works without the root key', () => {
    expect(fromConfigTree(YAML.eventbus).options).toEqual(fromConfigTree(YAML).options);
  });

  it('keeps unknown keys, so that the validator reports them', () => {
    const loaded = fromConfigTree({ bindings: { a: { topic: 't', 'grop-id': 'g' } } });
    expect(complaintsOf(() => resolveOptions({ brokers: 'a:1' }, { loaders: [loaded] }))[0]).toBe(
      "UNKNOWN_KEY configuration tree.bindings.a.grop-id: there is no option 'grop-id' here. Did you mean 'groupId'?",
    );
  });

  it('refuses one key in two spellings', () => {
    expect(
      complaintsOf(() => fromConfigTree({ defaults: { 'group-id': 'a', groupId: 'b' } })),
    ).toEqual([
      "KEY_TWICE configuration tree.defaults.groupId: 'groupId' is given twice, in two spellings. Remove one of them.",
    ]);
  });

  it('does not let __proto__ through', () => {
    const tree = JSON.parse('{"bindings":{"a":{"__proto__":{"topic":"t"}}}}') as object;
    const run = () =>
      resolveOptions({ brokers: 'a:1' }, { loaders: [fromConfigTree({ ...tree })] });
    expect(complaintsOf(run)[0]).toContain('FORBIDDEN_KEY configuration tree.bindings.a.__proto__');
  });
});
