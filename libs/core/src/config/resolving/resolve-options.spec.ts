import { memory } from '@nest-event-bus/broker/memory';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import fc from 'fast-check';
import { ConfigurationValidationException } from '../../errors/configuration-validation-exception.js';
import { complaintsOf, orders, violationsOf } from '../configuration.spec-support.js';
import { EVENTBUS_DEFAULTS } from '../defaults.js';
import { EventBusProperties } from '../properties/event-bus-properties.js';
import { resolveOptions, type OptionLayers } from './resolve-options.js';
import { TopicBindingProperties } from '../properties/topic-binding-properties.js';

const binding = { topic: 'orders.events', groupId: 'order-service' };
const complaints = (options: object, layers: OptionLayers = {}) =>
  complaintsOf(() => resolveOptions(options, layers));

const WAYS_OUT =
  "are missing: there is nothing to connect to. Give brokers: 'host:port' (or clusters), ask for another driver such as driver: memory(), switch the bus off with enabled: false, or let it be off wherever no brokers are given with enabled: 'if-configured'.";

describe('Whether the bus is on', () => {
  it.each<[string, object, string]>([
    ['brokers alone switch it on', { brokers: 'a:1' }, 'enabled'],
    ['a driver does, too', { driver: memory({ runtime: new VirtualRuntime() }) }, 'enabled'],
    ['false switches it off', { enabled: false, brokers: 'a:1' }, 'disabled'],
    ['off needs no brokers', { enabled: false, bindings: { orders: binding } }, 'disabled'],
    ['if-configured with brokers is on', { enabled: 'if-configured', brokers: 'a:1' }, 'enabled'],
    ['if-configured without is off', { enabled: 'if-configured' }, 'unconfigured'],
    [
      'an empty variable gives no brokers',
      { enabled: 'if-configured', brokers: '' },
      'unconfigured',
    ],
    ['nor does a blank list', { enabled: 'if-configured', brokers: [' ', ''] }, 'unconfigured'],
    ['preset brokers is if-configured', { defaults: { preset: 'brokers' } }, 'unconfigured'],
    [
      'unless somebody says otherwise',
      { defaults: { preset: 'brokers' }, enabled: false, brokers: 'a:1' },
      'disabled',
    ],
  ])('%s', (_, options, enabled) => {
    expect(resolveOptions(options).enabled).toBe(enabled);
  });

  it.each([[{}], [{ enabled: true, brokers: '' }], [{ brokers: [] }], [{ clusters: {} }]])(
    'on without brokers is an error that names the ways out: %j',
    (options) => {
      expect(complaints(options)).toEqual([`BROKERS_MISSING brokers: ${WAYS_OUT}`]);
    },
  );

  it('off, everything but the brokers is still checked', () => {
    expect(complaints({ enabled: false, bindings: { orders: { topic: 't' } } })).toEqual([
      "REQUIRED bindings.orders.groupId: is missing: every binding reads in a consumer group. Add groupId: 'the-group' here, or in defaults for all bindings.",
    ]);
  });
});

describe('bindingsWithoutHandler', () => {
  it("is 'fail', unless the options or a loader say otherwise", () => {
    const said = (options: object, layers?: OptionLayers) =>
      resolveOptions({ brokers: 'a:1', ...options }, layers).bindingsWithoutHandler;
    expect(said({})).toBe('fail');
    expect(said({ bindingsWithoutHandler: 'allow' })).toBe('allow');
    expect(said({}, { loaders: [{ bindingsWithoutHandler: 'allow' }] })).toBe('allow');
  });
});

describe('A cluster', () => {
  it('has its defaults', () => {
    expect(resolveOptions({ brokers: 'a:1, b:2,' }).clusters).toEqual({
      default: {
        alias: 'default',
        driver: undefined,
        brokers: ['a:1', 'b:2'],
        clientId: 'nest-event-bus',
        ssl: false,
        sasl: undefined,
        rackId: undefined,
        metadataMaxAgeMs: 10_000,
        producer: {
          compression: 'none',
          lingerMs: 5,
          batchBytes: 16_384,
          bufferBytes: 33_554_432,
          deliveryTimeoutMs: 30_000,
        },
      },
    });
  });

  it('is told by its alias; `brokers` is short for that of default', () => {
    const { clusters, bindings } = resolveOptions({
      brokers: ['a:1'],
      clusters: {
        default: { clientId: 'shop', ssl: true },
        eu: {
          brokers: '[::1]:9092',
          sasl: { mechanism: 'plain' },
          rackId: 'r1',
          metadataMaxAgeMs: '3s',
        },
      },
      bindings: { orders: { ...binding, cluster: 'eu' } },
    });
    expect(clusters['default']).toMatchObject({ brokers: ['a:1'], clientId: 'shop', ssl: true });
    expect(clusters['eu']).toMatchObject({
      brokers: ['[::1]:9092'],
      rackId: 'r1',
      metadataMaxAgeMs: 3_000,
    });
    expect(bindings[0]?.cluster).toBe('eu');
  });

  it.each<[object, string]>([
    [
      { brokers: 'kafka' },
      "BROKER_ADDRESS brokers: 'kafka' is not a broker address. Write host:port, such as 'kafka-1:9092', without a scheme.",
    ],
    [
      { clusters: { eu: { brokers: ['a:1', 'kafka://b:2'] } } },
      "BROKER_ADDRESS clusters.eu.brokers: 'kafka://b:2' is not a broker address. Write host:port, such as 'kafka-1:9092', without a scheme.",
    ],
    [
      { brokers: 'a:70000' },
      "BROKER_ADDRESS brokers: 'a:70000' is not a broker address. Write host:port, such as 'kafka-1:9092', without a scheme.",
    ],
    [
      { brokers: 'user:secret@a:1' },
      "BROKER_ADDRESS brokers: an address with credentials is not a broker address. Write host:port, such as 'kafka-1:9092', without a scheme.",
    ],
    [
      { brokers: 9092 },
      "TEXT brokers: must be one or several addresses: 'host:port', 'host:port,host:port' or a list of them; got 9092.",
    ],
    [
      { driver: {} },
      'REFERENCE driver: must be a broker driver, such as memory() of @nest-event-bus/broker/memory; got an object.',
    ],
    [
      { brokers: 'a:1', clusters: { default: { brokers: 'b:1' } } },
      'CLUSTER_TWICE brokers: is said twice, here and in clusters.default.brokers. Remove one of the two.',
    ],
    [
      { driver: memory({ runtime: new VirtualRuntime() }), brokers: 'a:1' },
      'DRIVER_AND_BROKERS driver: brings its own connections, so brokers beside it would have no effect. Keep the driver or the others.',
    ],
    [
      { brokers: 'a:1', clusters: { eu: { clientId: 'x' } } },
      'BROKERS_MISSING clusters.eu: has neither brokers nor a driver. Give it one of the two, or remove it.',
    ],
    [
      { brokers: 'a:1', clusters: { eu: 'b:1' } },
      "OBJECT clusters.eu: must be a plain object; got 'b:1'.",
    ],
    [
      { brokers: 'a:1', clusters: { eu: { brokers: 'b:1', ssl: 'secret' } } },
      'REFERENCE clusters.eu.ssl: must be true, false or the options of node:tls; got a text.',
    ],
    [
      { brokers: 'a:1', clusters: { eu: { brokers: 'b:1', sasl: 'secret' } } },
      "REFERENCE clusters.eu.sasl: must be an object with a mechanism, such as { mechanism: 'plain', username, password }; got a text.",
    ],
    [
      { brokers: 'a:1', clusters: { default: { producer: { bufferBytes: 1_000 } } } },
      'PRODUCER_BUFFER clusters.default.producer.bufferBytes: (1000) is smaller than batchBytes (16384): no batch could ever fill. Raise it, or lower batchBytes.',
    ],
    [
      { brokers: 'a:1', clusters: { default: { producer: { compression: 'snapy' } } } },
      "CHOICE clusters.default.producer.compression: must be one of 'none', 'gzip', 'snappy', 'lz4', 'zstd'; got 'snapy'. Did you mean 'snappy'?",
    ],
    [
      { brokers: 'a:1', bindings: { orders: { ...binding, cluster: 'eu' } } },
      "UNKNOWN_CLUSTER bindings.orders.cluster: there is no cluster 'eu'. Known are: default.",
    ],
    [
      { clusters: { eu: { brokers: 'a:1' } }, bindings: { orders: binding } },
      "UNKNOWN_CLUSTER bindings.orders.cluster: there is no cluster 'default'. Known are: eu.",
    ],
  ])('%# is refused with the way out', (options, message) => {
    expect(complaints(options)).toEqual([message]);
  });

  it('of a test replaces that of the environment instead of clashing with it', () => {
    const driver = memory({ runtime: new VirtualRuntime() });
    const loaders = [{ brokers: 'a:1', clusters: { default: { ssl: true } } }];
    const { clusters } = resolveOptions({ driver }, { loaders });
    expect(clusters['default']).toMatchObject({ driver, brokers: [], ssl: false });
    const reversed = resolveOptions({ brokers: 'b:1' }, { loaders: [{ driver }] });
    expect(reversed.clusters['default']).toMatchObject({ driver: undefined, brokers: ['b:1'] });
  });

  it('takes from a loader what the options leave open', () => {
    const loaders = [{ brokers: 'a:1', clusters: { default: { clientId: 'loaded', ssl: true } } }];
    const { clusters } = resolveOptions(
      { clusters: { default: { clientId: 'own' } } },
      { loaders },
    );
    expect(clusters['default']).toMatchObject({ brokers: ['a:1'], clientId: 'own', ssl: true });
  });

  it('has a producer whose options are taken key by key, beside a driver of its own too', () => {
    const driver = memory({ runtime: new VirtualRuntime() });
    const own = { clusters: { default: { driver, producer: { lingerMs: '20ms' } } } } as const;
    const loaded = { brokers: 'a:1', clusters: { default: { producer: { batchBytes: 1_000 } } } };
    const producer = { compression: 'none', lingerMs: 20, batchBytes: 1_000 };
    const { clusters } = resolveOptions(own, { loaders: [loaded] });
    expect(clusters['default']).toMatchObject({ driver, producer });
    expect(Object.isFrozen(clusters['default']?.producer)).toBe(true);
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
      runtime: undefined,
      unusedKeys: [],
      pendingKeys: [],
    });
  });

  it('take durations in words, and fall back key by key', () => {
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

  it('may be an instance of their class, with bindings of theirs', () => {
    const orderBinding = Object.assign(new TopicBindingProperties(), binding);
    const options = Object.assign(new EventBusProperties(), {
      brokers: 'a:1',
      bindings: { orders: orderBinding },
    });
    expect(resolveOptions(options).bindings[0]?.topic).toBe('orders.events');
  });

  it('list everything that is wrong at once', () => {
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

  it('say what is wrong in the defaults once, not once per binding', () => {
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

  it('may leave the group to the defaults, never the topic', () => {
    const options = { brokers: 'a:1', defaults: { groupId: 'g' }, bindings: { a: { topic: 't' } } };
    expect(resolveOptions(options as never).bindings[0]?.groupId).toBe('g');
    expect(complaints({ brokers: 'a:1', defaults: { topic: 't' } })[0]).toContain(
      "UNKNOWN_KEY defaults.topic: there is no option 'topic' here.",
    );
  });

  it.each([[null], [undefined], ['text'], [[]], [new Map()]])('cannot be %p', (given) => {
    const [first] = violationsOf(() => resolveOptions(given as never));
    expect(first).toMatchObject({ rule: 'OBJECT', path: '' });
  });

  it('refuse two bindings that share topic and group', () => {
    expect(complaints({ brokers: 'a:1', bindings: { a: binding, b: binding } })).toEqual([
      "GROUP_TOPIC bindings.b.groupId: binding 'a' reads topic 'orders.events' in group 'order-service' too: each of the two would get only a part of the records. Give one of them another groupId, or put both handlers on one binding.",
    ]);
  });

  it('allow one group to read several topics in several bindings', () => {
    const other = { ...binding, topic: 'other' };
    const { bindings } = resolveOptions({ brokers: 'a:1', bindings: { a: binding, b: other } });
    expect(bindings).toHaveLength(2);
  });

  describe('of one group with static members', () => {
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
      'the two would fence each other, and one would never be read. Write {binding} into groupInstanceId.';

    it('are refused where two sessions of one process would have one id', () => {
      expect(both({ groupInstanceId })).toEqual([
        `STATIC_ID bindings.b.groupInstanceId: makes 'shop-host-0', the id that a session of binding 'a' has in group 'shop' too: ${rest}`,
      ]);
      const [one, two] = [{ groupInstanceId: 'x-1{index}' }, { groupInstanceId: 'x-{index}' }];
      expect(both({ concurrency: 11 }, one, two)[0]).toContain("makes 'x-10'");
    });

    it('are refused where sessions of their retry topics would', () => {
      const tiers = [{ concurrency: 2 }];
      const [one, two] = [{ groupInstanceId: 'x-1{index}' }, { groupInstanceId: 'x-{index}' }];
      expect(both({ retry: { tiers: [{ concurrency: 11 }] } }, one, two)).toEqual([
        `STATIC_ID bindings.b.groupInstanceId: makes 'x-10', the id that a session of binding 'a' has in group 'shop.retry-1' too: ${rest}`,
      ]);
      expect(both({ retry: { tiers } }, one, two)).toEqual([]);
    });

    it.each([
      ['the ids have the binding in them', { groupInstanceId: `{binding}-${groupInstanceId}` }, {}],
      ['they are as they are by default', {}, {}],
      ['their groups differ', { groupInstanceId }, { groupId: 'another' }],
      ['their clusters differ', { groupInstanceId }, { cluster: 'other' }],
      [
        'one is static only',
        { groupInstanceId },
        { staticMembership: false, groupInstanceId: undefined },
      ],
    ])('are allowed where %s', (_, common, b) => {
      expect(both(common, {}, b)).toEqual([]);
    });
  });
});

describe('A feature', () => {
  const source = 'forFeature in OrdersModule';
  const feature = { source, options: { bindings: { orders: binding } } };

  it('adds its bindings', () => {
    const { bindings } = resolveOptions({ brokers: 'a:1' }, { features: [feature] });
    expect(bindings.map(({ name }) => name)).toEqual(['orders']);
  });

  it('cannot describe a binding that is described already', () => {
    expect(complaints(orders(), { features: [feature] })).toContain(
      'DUPLICATE_BINDING bindings.orders: is described twice, by the options and by forFeature in OrdersModule. Describe it once, or rename one of the two.',
    );
  });

  it.each([
    [undefined, 'OBJECT', ': must be a plain object; got undefined.'],
    ['orders', 'OBJECT', ": must be a plain object; got 'orders'."],
    [
      {},
      'FEATURE_WITHOUT_BINDINGS',
      ': brings no bindings. Give it { bindings: { name: { topic, groupId } } }.',
    ],
    [
      { bindings: [] },
      'OBJECT',
      '.bindings: must be a plain object with one entry per name; got an empty list.',
    ],
    [
      { bindings: {}, binding: {} },
      'UNKNOWN_KEY',
      ".binding: there is no option 'binding' here. Did you mean 'bindings'?",
    ],
  ])('is checked like the options: %j is %s', (options, rule, message) => {
    const features = [{ source, options: options as never }];
    expect(complaints(orders(), { features })).toEqual([
      `${rule} forFeature in OrdersModule${message}`,
    ]);
  });
});

describe('A decorator', () => {
  it('may describe a whole binding, or add to one; a stranger is left to discovery', () => {
    const handlers = [
      { binding: 'orders', source: '@A', properties: { concurrency: 2 } },
      { binding: 'fresh', source: '@B', properties: { topic: 'fresh', groupId: 'g' } },
      { binding: 'stranger', source: '@C', properties: {} },
    ];
    const { bindings } = resolveOptions(orders(), { handlers });
    expect(bindings.map(({ name, concurrency }) => [name, concurrency])).toEqual([
      ['orders', 2],
      ['fresh', 1],
    ]);
  });

  describe('of a handler that takes whole slices', () => {
    const handlers = [
      { binding: 'orders', source: '@A', form: 'slice', properties: { concurrency: 2 } },
    ] as const;
    const single = { listenerType: 'SINGLE' } as const;

    it('makes its binding a BATCH listener, with all that follows from it', () => {
      const said = { batchFailureStrategy: 'DLQ_AND_CONTINUE' };
      const { bindings, ineffective } = resolveOptions(orders({ ...said, retry: { tiers: [] } }), {
        handlers,
      });
      expect(bindings).toMatchObject([
        { ...said, listenerType: 'BATCH', maxPollRecords: 200, concurrency: 2 },
      ]);
      expect(ineffective).toEqual([]);
    });

    it('counts before what all bindings have in common', () => {
      const options = orders({}, { defaults: single });
      expect(resolveOptions(options, { handlers }).bindings).toMatchObject([
        { listenerType: 'BATCH' },
      ]);
    });

    it.each([
      ['the options', orders(single), handlers, 'bindings.orders'],
      ['its own options', orders(), [{ ...handlers[0], properties: single }], '@A (orders)'],
    ])('cannot take single records, as %s say', (_, options, refused, path) => {
      expect(complaints(options, { handlers: refused })).toEqual([
        `LISTENER_TYPE ${path}.listenerType: must be 'BATCH', since @EventHandler.Batch on @A takes whole slices; got 'SINGLE'. Leave it out, or use @EventHandler for single records.`,
      ]);
    });

    it('is named where it does not go with something else', () => {
      expect(complaints(orders({ processing: { by: 'key' } }), { handlers })).toEqual([
        expect.stringContaining("listenerType is 'BATCH' (from @EventHandler.Batch on @A)"),
      ]);
    });
  });
});

describe('Two decorators of one binding', () => {
  const handlers = (first: object, second: object) => [
    { binding: 'orders', source: '@A', properties: first },
    { binding: 'orders', source: '@B', properties: second },
  ];

  it('may complete each other or say the same', () => {
    const layers = {
      handlers: handlers(
        { concurrency: 2, retry: { tiers: [] } },
        { retry: { tiers: [] }, ackMode: 'MANUAL' },
      ),
    };
    expect(resolveOptions(orders(), layers).bindings[0]).toMatchObject({
      concurrency: 2,
      ackMode: 'MANUAL',
    });
  });

  it('may not contradict each other', () => {
    expect(
      complaints(orders(), { handlers: handlers({ concurrency: 2 }, { concurrency: 3 }) }),
    ).toEqual([
      'HANDLERS_DISAGREE bindings.orders.concurrency: is said differently by @A and by @B, which share the binding. Say it once, or in the options.',
    ]);
  });
});

describe('A loader', () => {
  const loaded = {
    source: 'environment',
    options: { bindings: { orders: { ...binding, concurrency: 'x' } } } as never,
    unused: [{ source: 'environment', key: 'EVENTBUS_FOO', reason: 'no option has this name' }],
  };

  it('is named in the path of what it got wrong', () => {
    expect(complaints({ brokers: 'a:1' }, { loaders: [loaded] })).toEqual([
      "NUMBER environment.bindings.orders.concurrency: must be a whole number from 1 to 1000; got 'x'.",
    ]);
  });

  it('may stand in the options; what it could not place is handed on', () => {
    const good = { ...loaded, options: { bindings: { orders: binding } } };
    const { bindings, unusedKeys } = resolveOptions({ brokers: 'a:1', loaders: [good] });
    expect(bindings.map(({ name }) => name)).toEqual(['orders']);
    expect(unusedKeys).toEqual(loaded.unused);
  });

  it('is refused when it is none', () => {
    expect(complaints({ brokers: 'a:1', loaders: [{}] })[0]).toBe(
      'REFERENCE loaders: must be a list of what loaders gave, such as [fromEnvironment(process.env)]; got a list.',
    );
  });

  it.each([
    ['runtime', new VirtualRuntime(), 'the bus has its clock before it asks a loader'],
    ['loaders', [], 'loaders load no others'],
  ])('has no say in %s, which is refused', (key, value, why) => {
    const given = { source: 'properties', options: { [key]: value }, unused: [] };
    expect(complaints({ brokers: 'a:1', loaders: [given] })).toEqual([
      `OPTIONS_ONLY properties.${key}: has no effect here: ${why}. Give it in the options of the module itself.`,
    ]);
  });
});

describe('Whatever is given', () => {
  it('may hold what class-validator itself cannot look at', () => {
    const shutdown = [[[{ constructor: null }]]];
    expect(complaintsOf(() => resolveOptions({ shutdown } as never))[0]).toContain('OBJECT');
  });

  it('the answer is settings or a ConfigurationValidationException, and nothing else', () => {
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
