import { memory } from '@nest-event-bus/broker/memory';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import fc from 'fast-check';
import { ConfigurationValidationException } from '../../errors/configuration-validation-exception.js';
import { complaintsOf, violationsOf } from '../configuration.spec-support.js';
import { EVENTBUS_DEFAULTS } from '../defaults.js';
import { EventBusProperties } from '../properties/event-bus-properties.js';
import { resolveOptions, type OptionLayers } from './resolve-options.js';
import { TopicBindingProperties } from '../properties/topic-binding-properties.js';

const binding = { topic: 'orders.events', groupId: 'order-service' };

const complaints = (options: object, layers: OptionLayers = {}) =>
  complaintsOf(() => resolveOptions(options, layers));

const REMEDIES =
  "are missing: there is nothing to connect to. Give brokers: 'host:port' (or clusters), ask for another driver such as driver: memory(), switch the bus off with enabled: false, or let it be off wherever no brokers are given with enabled: 'if-configured'.";

describe('The option enabled', () => {
  it.each<[string, object, string]>([
    ['brokers alone enable the bus', { brokers: 'a:1' }, 'enabled'],
    [
      'a driver alone enables the bus',
      { driver: memory({ runtime: new VirtualRuntime() }) },
      'enabled',
    ],
    ['false disables the bus', { enabled: false, brokers: 'a:1' }, 'disabled'],
    [
      'a disabled bus needs no brokers',
      { enabled: false, bindings: { orders: binding } },
      'disabled',
    ],
    [
      'if-configured with brokers enables the bus',
      { enabled: 'if-configured', brokers: 'a:1' },
      'enabled',
    ],
    ['if-configured without brokers does not', { enabled: 'if-configured' }, 'unconfigured'],
    [
      'an empty variable gives no brokers',
      { enabled: 'if-configured', brokers: '' },
      'unconfigured',
    ],
    [
      'a blank list gives no brokers',
      { enabled: 'if-configured', brokers: [' ', ''] },
      'unconfigured',
    ],
    ['preset brokers is if-configured', { defaults: { preset: 'brokers' } }, 'unconfigured'],
    [
      'preset brokers can be overridden',
      { defaults: { preset: 'brokers' }, enabled: false, brokers: 'a:1' },
      'disabled',
    ],
  ])('resolves: %s', (_, options, enabled) => {
    expect(resolveOptions(options).enabled).toBe(enabled);
  });

  it.each([[{}], [{ enabled: true, brokers: '' }], [{ brokers: [] }], [{ clusters: {} }]])(
    'is refused without brokers, with the remedies in the message: %j',
    (options) => {
      expect(complaints(options)).toEqual([`BROKERS_MISSING brokers: ${REMEDIES}`]);
    },
  );

  it('set to false does not disable the validation of other options', () => {
    expect(complaints({ enabled: false, bindings: { orders: { topic: 't' } } })).toEqual([
      "REQUIRED bindings.orders.groupId: is missing: every binding reads in a consumer group. Add groupId: 'the-group' here, or in defaults for all bindings.",
    ]);
  });
});

describe('The option bindingsWithoutHandler', () => {
  it("is 'fail' by default, and may be set by the options or a loader", () => {
    const resolvedValue = (options: object, layers?: OptionLayers) =>
      resolveOptions({ brokers: 'a:1', ...options }, layers).bindingsWithoutHandler;
    expect(resolvedValue({})).toBe('fail');
    expect(resolvedValue({ bindingsWithoutHandler: 'allow' })).toBe('allow');
    expect(resolvedValue({}, { loaders: [{ bindingsWithoutHandler: 'allow' }] })).toBe('allow');
  });
});

describe('The options of the application', () => {
  it('have their defaults', () => {
    expect(resolveOptions({ brokers: 'a:1' })).toMatchObject({
      enabled: 'enabled',
      bindings: [],
      shutdown: { drainTimeoutMs: 30_000 },
      startup: { concurrency: 16 },
      intake: { bufferBytes: 64 * 1024 * 1024 },
      metrics: { enabled: true },
      logContext: { enabled: true },
      lag: { enabled: true, intervalMs: 10_000 },
      fleet: {
        controlTopic: undefined,
        cluster: 'default',
        provisioning: 'verify',
        instance: undefined,
        version: '',
        pollIntervalMs: 500,
        reportIntervalMs: 10_000,
      },
      runtime: undefined,
      unusedKeys: [],
    });
  });

  it('accept durations as texts, and take the default of each key that is not set', () => {
    const options = { brokers: 'a:1', shutdown: { drainTimeoutMs: '1m' } } as const;
    const loaders = [
      {
        startup: { concurrency: 3 },
        shutdown: { drainTimeoutMs: 1 },
        intake: { bufferBytes: 5_000_000 },
        metrics: { enabled: false },
      },
    ];
    const resolved = resolveOptions(options, { loaders });
    expect(resolved.shutdown.drainTimeoutMs).toBe(60_000);
    expect(resolved.startup.concurrency).toBe(3);
    expect(resolved.intake.bufferBytes).toBe(5_000_000);
    expect(resolved.metrics.enabled).toBe(false);
  });

  it('may be instances of the options classes instead of plain objects', () => {
    const orderBinding = Object.assign(new TopicBindingProperties(), binding);
    const options = Object.assign(new EventBusProperties(), {
      brokers: 'a:1',
      bindings: { orders: orderBinding },
    });
    expect(resolveOptions(options).bindings[0]?.topic).toBe('orders.events');
  });

  it('are refused with all violations at once', () => {
    const error = (() => {
      try {
        resolveOptions({
          brokers: 'a',
          shutdown: { drain: 1 },
          bindings: { a: { topic: 't' }, b: { topic: 5, groupId: 'g' } },
        } as never);
      } catch (thrown) {
        return thrown as ConfigurationValidationException;
      }
      return undefined;
    })();
    expect(error).toBeInstanceOf(ConfigurationValidationException);
    expect(error?.message.split('\n')).toEqual([
      '4 things are wrong in the configuration of the event bus:',
      "  - shutdown.drain: there is no option 'drain' here. Known are: drainTimeoutMs.",
      "  - brokers: 'a' is not a broker address. Write host:port, such as 'kafka-1:9092', without a scheme.",
      "  - bindings.a.groupId: is missing: every binding reads in a consumer group. Add groupId: 'the-group' here, or in defaults for all bindings.",
      "  - bindings.b.topic: must be a topic name: up to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-', and not '.' or '..'; got 5.",
    ]);
  });

  it('report an error in the defaults once, not once per binding', () => {
    const options = {
      brokers: 'a:1',
      defaults: { concurrency: 0, heartbeatIntervalMs: 'x', sessionTimeoutMs: 1 },
      bindings: { a: { topic: 'a', groupId: 'g' }, b: { topic: 'b', groupId: 'g' } },
    };
    expect(violationsOf(() => resolveOptions(options as never)).map(({ path }) => path)).toEqual([
      'defaults.concurrency',
      'defaults.heartbeatIntervalMs',
    ]);
  });

  it('may set groupId in the defaults, but never topic', () => {
    const options = { brokers: 'a:1', defaults: { groupId: 'g' }, bindings: { a: { topic: 't' } } };
    expect(resolveOptions(options as never).bindings[0]?.groupId).toBe('g');
    expect(complaints({ brokers: 'a:1', defaults: { topic: 't' } })[0]).toContain(
      "UNKNOWN_KEY defaults.topic: there is no option 'topic' here.",
    );
  });

  it.each([[null], [undefined], ['text'], [[]], [new Map()]])(
    'are refused if they are %p',
    (given) => {
      const [first] = violationsOf(() => resolveOptions(given as never));
      expect(first).toMatchObject({ rule: 'OBJECT', path: '' });
    },
  );

  it('refuse two bindings that share topic and group', () => {
    expect(complaints({ brokers: 'a:1', bindings: { a: binding, b: binding } })).toEqual([
      "GROUP_TOPIC bindings.b.groupId: binding 'a' reads topic 'orders.events' in group 'order-service' too: each of the two would get only a part of the records. Give one of them another groupId, or put both handlers on one binding.",
    ]);
  });

  it('allow several bindings to use one group for different topics', () => {
    const other = { ...binding, topic: 'other' };
    const { bindings } = resolveOptions({ brokers: 'a:1', bindings: { a: binding, b: other } });
    expect(bindings).toHaveLength(2);
  });

  describe('with static members of one group', () => {
    const clusters = { default: { brokers: 'a:1' }, other: { brokers: 'b:1' } };
    const both = (common: object, a: object = {}, b: object = {}) =>
      complaints({
        clusters,
        bindings: {
          a: { topic: 'a', groupId: 'shop', staticMembership: true, ...common, ...a },
          b: { topic: 'b', groupId: 'shop', staticMembership: true, ...common, ...b },
        },
      });
    const groupInstanceId = 'shop-{hostname}-{index}';
    const rest =
      'the two would fence each other, and one of the bindings would never be consumed. Write {binding} into groupInstanceId.';

    it('are refused if two sessions of the process would have the same id', () => {
      expect(both({ groupInstanceId })).toEqual([
        `STATIC_ID bindings.b.groupInstanceId: makes 'shop-host-0', the id that a session of binding 'a' has in group 'shop', too: ${rest}`,
      ]);
      const [one, two] = [{ groupInstanceId: 'x-1{index}' }, { groupInstanceId: 'x-{index}' }];
      expect(both({ concurrency: 11 }, one, two)[0]).toContain("makes 'x-10'");
    });

    it('are refused if two sessions of retry topics would have the same id', () => {
      const tiers = [{ concurrency: 2 }];
      const [one, two] = [{ groupInstanceId: 'x-1{index}' }, { groupInstanceId: 'x-{index}' }];
      expect(both({ retry: { tiers: [{ concurrency: 11 }] } }, one, two)).toEqual([
        `STATIC_ID bindings.b.groupInstanceId: makes 'x-10', the id that a session of binding 'a' has in group 'shop.retry-1', too: ${rest}`,
      ]);
      expect(both({ retry: { tiers } }, one, two)).toEqual([]);
    });

    it.each([
      ['the ids contain the binding', { groupInstanceId: `{binding}-${groupInstanceId}` }, {}],
      ['the ids are the default', {}, {}],
      ['their groups differ', { groupInstanceId }, { groupId: 'another' }],
      ['their clusters differ', { groupInstanceId }, { cluster: 'other' }],
      [
        'one is static only',
        { groupInstanceId },
        { staticMembership: false, groupInstanceId: undefined },
      ],
    ])('are allowed if %s', (_, common, b) => {
      expect(both(common, {}, b)).toEqual([]);
    });
  });
});

describe('resolveOptions() with random input', () => {
  it('reports values on which class-validator itself throws', () => {
    const shutdown = [[[{ constructor: null }]]];
    expect(complaintsOf(() => resolveOptions({ shutdown } as never))[0]).toContain('OBJECT');
  });

  it('resolves or throws a ConfigurationValidationException, never another error', () => {
    const key = fc.constantFrom(
      ...Object.keys(EVENTBUS_DEFAULTS.binding),
      ...Object.keys(new EventBusProperties()),
      'default',
      'orders',
      'tier0',
      'tiers',
      'delayMs',
      'replay',
      'match',
      'topic',
      'groupId',
      '__proto__',
      'constructor',
      'hasOwnProperty',
      'then',
      'length',
    );
    const value = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'medium' },
        fc.jsonValue(),
        fc.constantFrom('10s', 'SINGLE', 'brokers', 'a:1', 1, true),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc
          .array(fc.tuple(key, tie('tree')), { maxLength: 6 })
          .map((entries) => JSON.parse(JSON.stringify(Object.fromEntries(entries))) as unknown),
      ),
    })).tree;
    fc.assert(
      fc.property(value, value, value, (options, orderBinding, loader) => {
        for (const given of [options, { brokers: 'a:1', bindings: { orders: orderBinding } }]) {
          violationsOf(() => resolveOptions(given as never));
          violationsOf(() => resolveOptions({ brokers: 'a:1' }, { loaders: [loader as never] }));
        }
      }),
      { numRuns: 300 },
    );
  });
});
