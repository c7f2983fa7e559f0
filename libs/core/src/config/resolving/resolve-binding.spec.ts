import {
  complaintsOf,
  orders,
  resolvedOrders,
  violationsOf,
} from '../configuration.spec-support.js';
import { resolveBinding } from './resolve-binding.js';
import { ExceptionRoutingDecision } from '../../model/outcomes/exception-routing-decision.js';
import { resolveOptions } from './resolve-options.js';
import type { ResolvedBinding } from './resolved-binding.js';
import {
  errorTypes,
  sampleBindings,
  ServiceUnavailableException,
  TimeoutException,
  ValidationException,
} from '../sample-bindings.spec-support.js';

const tier = (topic: string, group: string, number: number, delayMs: number) => ({
  number,
  topic: `${topic}.retry-${number}`,
  groupId: `${group}.retry-${number}`,
  delayMs,
  multiplier: 1,
  maxDelayMs: 3_600_000,
  maxAttempts: 3,
  topicSuffix: 'retry-{n}',
  concurrency: 1,
});

/** Every key of a binding with its default, written out: the binding of S0-A-03. */
const NOTIFICATIONS: ResolvedBinding = {
  name: 'notifications',
  preset: 'connector',
  topic: 'notifications.outbox',
  groupId: 'notification-service',
  cluster: 'default',
  listenerType: 'SINGLE',
  ackMode: 'MANUAL_IMMEDIATE',
  ack: 'auto',
  concurrency: 1,
  maxPollRecords: 50,
  maxPollIntervalMs: 600_000,
  sessionTimeoutMs: 45_000,
  heartbeatIntervalMs: 10_000,
  pollTimeoutMs: 5_000,
  idleBetweenPollsMs: 0,
  autoStartup: true,
  staticMembership: false,
  groupInstanceId: '{binding}-{hostname}-{index}',
  groupProtocol: 'classic',
  offsetReset: 'earliest',
  assignmentStrategy: ['cooperative-sticky', 'sticky', 'range'],
  retry: {
    mode: 'in-line',
    tier0: {
      maxAttempts: 3,
      initialBackoffMs: 100,
      multiplier: 2,
      maxBackoffMs: 2_000,
      jitter: 'capped',
    },
    tiers: [
      tier('notifications.outbox', 'notification-service', 1, 10_000),
      tier('notifications.outbox', 'notification-service', 2, 60_000),
      tier('notifications.outbox', 'notification-service', 3, 300_000),
    ],
    onBudgetExceeded: 'DLT',
    poisonAfter: 0,
    retryableExceptions: [],
    nonRetryableExceptions: [],
    skipToTierMapping: [],
  },
  circuitBreaker: {
    enabled: false,
    failureRateThreshold: 50,
    slowCallRateThreshold: 80,
    slowCallDurationMs: 5_000,
    waitDurationInOpenStateMs: 60_000,
    slidingWindowSize: 100,
    minimumNumberOfCalls: 10,
    permittedNumberOfCallsInHalfOpenState: 5,
    automaticPauseOnOpen: true,
  },
  dlt: {
    topic: 'notifications.outbox.DLT',
    topicSuffix: 'DLT',
    strategy: 'STORE_ONLY',
    replay: { maxReplays: 3, cooldownMs: 3_600_000, batchSize: 100 },
    headerProfile: ['eventbus'],
    exceptionDetail: 'full',
    publishTimeoutMs: 30_000,
    handlerTimeoutMs: 10_000,
    verifyTopic: false,
  },
  provisioning: 'verify',
  topics: {
    partitions: 0,
    retentionDays: 0,
    replicationFactor: 0,
    retry: { partitions: 0, retentionDays: 0 },
    dlt: { partitions: 0, retentionDays: 0 },
  },
  exceptionRouting: [],
  batchFailureStrategy: 'SEEK_TO_FAILED',
  batchRedeliveries: 1,
  orderingMode: 'RELAXED_IN_RETRY',
  strictExhaustion: 'DLT',
  unknownType: 'skip',
  typeFrom: 'event-type',
  deserializer: 'json',
  typedJson: { types: {}, trustedPackages: ['*'] },
  schemaRegistry: undefined,
  schemaVersion: { from: 'schema-version', supported: [] },
  enhancers: 'local',
  stuckHandlerMs: 300_000,
  processing: { by: 'partition', maxConcurrency: 64 },
  commit: { strict: false },
  transactions: { enabled: false, idPrefix: 'eventbus-' },
  rebalance: { drainTimeoutMs: 10_000 },
  idempotency: {
    store: 'none',
    key: 'position',
    ttlMs: 86_400_000,
    leaseMs: 60_000,
    timeoutMs: 5_000,
    onStoreFailure: 'fail',
  },
  expectedProcessingMs: 0,
};

const { bindings } = resolveOptions({
  brokers: 'kafka:9092',
  errorTypes,
  bindings: sampleBindings,
});

describe('The sample bindings', () => {
  it('notifications says no more than it must and gets every default', () => {
    expect(bindings[2]).toStrictEqual(NOTIFICATIONS);
  });

  it('orders is a batch with everything switched on', () => {
    expect(bindings[0]).toStrictEqual({
      ...NOTIFICATIONS,
      name: 'orders',
      topic: 'orders.events',
      groupId: 'order-service',
      listenerType: 'BATCH',
      concurrency: 3,
      maxPollRecords: 200,
      staticMembership: true,
      retry: {
        mode: 'in-line',
        tier0: {
          maxAttempts: 3,
          initialBackoffMs: 100,
          multiplier: 2,
          maxBackoffMs: 2_000,
          jitter: 'capped',
        },
        tiers: [
          { ...tier('orders.events', 'order-service', 1, 10_000), concurrency: 2 },
          tier('orders.events', 'order-service', 2, 60_000),
          { ...tier('orders.events', 'order-service', 3, 300_000), maxAttempts: 2 },
        ],
        onBudgetExceeded: 'DLT',
        poisonAfter: 0,
        retryableExceptions: [TimeoutException],
        nonRetryableExceptions: [ValidationException],
        skipToTierMapping: [{ match: ServiceUnavailableException, tier: 2 }],
      },
      circuitBreaker: { ...NOTIFICATIONS.circuitBreaker, enabled: true },
      dlt: {
        topic: 'orders.events.DLT',
        topicSuffix: 'DLT',
        strategy: 'ALERT_AND_STORE',
        replay: { maxReplays: 5, cooldownMs: 1_800_000, batchSize: 50 },
        headerProfile: ['eventbus'],
        exceptionDetail: 'full',
        publishTimeoutMs: 30_000,
        handlerTimeoutMs: 10_000,
        verifyTopic: false,
      },
    });
  });

  it('payments keeps its order and therefore has no retry topics', () => {
    expect(bindings[1]).toStrictEqual({
      ...NOTIFICATIONS,
      name: 'payments',
      topic: 'payments.commands',
      groupId: 'payment-service',
      concurrency: 2,
      orderingMode: 'STRICT',
      retry: {
        ...NOTIFICATIONS.retry,
        tier0: {
          maxAttempts: 5,
          initialBackoffMs: 200,
          multiplier: 2,
          maxBackoffMs: 2_000,
          jitter: 'capped',
        },
        tiers: [],
      },
      circuitBreaker: { ...NOTIFICATIONS.circuitBreaker, enabled: true, failureRateThreshold: 30 },
      dlt: { ...NOTIFICATIONS.dlt, topic: 'payments.commands.DLT' },
    });
  });

  it('cannot be changed, at any depth', () => {
    const isDeeplyFrozen = (value: unknown): boolean =>
      typeof value !== 'object' ||
      value === null ||
      (Object.isFrozen(value) && Object.values(value).every(isDeeplyFrozen));
    expect(bindings.every(isDeeplyFrozen)).toBe(true);
    expect(Object.isFrozen(bindings)).toBe(true);
  });
});

describe('A function among settings', () => {
  const redact = () => ({ message: '' });

  it('is taken as it is, and the settings around it are mixed and frozen as ever', () => {
    const { dlt } = resolvedOrders(
      { dlt: { replay: { batchSize: 7 }, headerProfile: ['spring'] } },
      { defaults: { dlt: { redact, topicSuffix: 'dead' } } },
    );
    expect(dlt).toStrictEqual({
      ...NOTIFICATIONS.dlt,
      topic: 'orders.events.dead',
      topicSuffix: 'dead',
      replay: { maxReplays: 3, cooldownMs: 3_600_000, batchSize: 7 },
      headerProfile: ['spring'],
      redact,
    });
    expect([dlt, dlt.replay, dlt.headerProfile].every((part) => Object.isFrozen(part))).toBe(true);
    expect(Object.isFrozen(redact)).toBe(false);
  });

  it.each([
    ['a text', 'no', "got 'no'"],
    ['a class of errors', RangeError, 'got a function'],
  ])('cannot be %s', (_, value, shown) => {
    expect(complaintsOf(() => resolvedOrders({ dlt: { redact: value as never } }))).toEqual([
      `REFERENCE bindings.orders.dlt.redact: must be a function (error) => ({ message, stack }); ${shown}.`,
    ]);
  });
});

describe('A default that depends on something else', () => {
  it('reads 50 records at a time for single records and 200 for a batch', () => {
    expect(resolvedOrders({ listenerType: 'SINGLE' }).maxPollRecords).toBe(50);
    expect(resolvedOrders({ listenerType: 'BATCH' }).maxPollRecords).toBe(200);
    expect(resolvedOrders({ listenerType: 'BATCH', maxPollRecords: 7 }).maxPollRecords).toBe(7);
  });

  it('has no tiers where the list is empty', () => {
    expect(resolvedOrders({ retry: { tiers: [] } }).retry.tiers).toEqual([]);
  });

  it('gives the first three tiers their delays and asks for that of a fourth', () => {
    const tiers = (count: number) => ({
      retry: { tiers: Array.from({ length: count }, () => ({})) },
    });
    expect(resolvedOrders(tiers(3)).retry.tiers.map(({ delayMs }) => delayMs)).toEqual([
      10_000, 60_000, 300_000,
    ]);
    expect(complaintsOf(() => resolvedOrders(tiers(4)))).toEqual([
      "REQUIRED bindings.orders.retry.tiers[3].delayMs: is missing: only the first three tiers have a delay by default. Add delayMs: '10m', longer than that of tier 3.",
    ]);
  });

  it('names the dead-letter topic after the topic, unless it has a name', () => {
    const dlt = (given: object) => resolvedOrders({ dlt: given }).dlt.topic;
    expect(dlt({ topicSuffix: 'dead' })).toBe('orders.events.dead');
    expect(dlt({ topicSuffix: '-dlq' })).toBe('orders.events-dlq');
    expect(dlt({ topicSuffix: '.error' })).toBe('orders.events.error');
    const defaults = { dlt: { topicSuffix: '-dlq' } };
    expect(resolvedOrders({ dlt: { topic: 'graveyard' } }, { defaults }).dlt.topic).toBe(
      'graveyard',
    );
  });

  it('has no classifier, and takes one as it is', () => {
    expect(resolvedOrders().classifier).toBeUndefined();
    const classifier = { classify: () => ExceptionRoutingDecision.nextTier(), calls: 0 };
    const defaults = { classifier: { classify: () => ExceptionRoutingDecision.deadLetter() } };
    const binding = resolvedOrders({ classifier }, { defaults });
    expect(binding.classifier).toBe(classifier);
    expect(Object.isFrozen(classifier)).toBe(false);
    expect(resolvedOrders({}, { defaults }).classifier).toBe(defaults.classifier);
  });

  it('takes one assignment strategy for a list of one', () => {
    expect(resolvedOrders({ assignmentStrategy: 'range' }).assignmentStrategy).toEqual(['range']);
  });
});

it('A binding has no naming strategy of its own unless it says so', () => {
  expect(resolvedOrders({})).not.toHaveProperty('naming');
});

describe('For one key the highest layer counts that says something', () => {
  const concurrency = (value: number) => ({ concurrency: value });
  const LAYERS: readonly (readonly [string, Parameters<typeof resolvedOrders>, number])[] = [
    ['the library', [{}, {}], 1],
    ['the preset of the application', [{}, { defaults: { preset: 'brokers' } }], 3],
    ['the preset of the binding', [{ preset: 'brokers' }, { defaults: { preset: 'strategy' } }], 3],
    [
      'the defaults of a loader',
      [{ preset: 'brokers' }, {}, { loaders: [{ defaults: concurrency(10) }] }],
      10,
    ],
    [
      'the defaults of the options, even before the preset of the binding',
      [
        { preset: 'brokers' },
        { defaults: concurrency(11) },
        { loaders: [{ defaults: concurrency(10) }] },
      ],
      11,
    ],
    [
      'a decorator',
      [
        {},
        { defaults: concurrency(11) },
        { handlers: [{ binding: 'orders', source: '@H', properties: concurrency(12) }] },
      ],
      12,
    ],
    [
      'the binding of a loader',
      [
        {},
        { defaults: concurrency(11) },
        {
          handlers: [{ binding: 'orders', source: '@H', properties: concurrency(12) }],
          loaders: [{ bindings: { orders: concurrency(13) as never } }],
        },
      ],
      13,
    ],
    [
      'the binding of the options',
      [
        concurrency(14),
        { defaults: concurrency(11) },
        {
          handlers: [{ binding: 'orders', source: '@H', properties: concurrency(12) }],
          loaders: [{ bindings: { orders: concurrency(13) as never } }],
        },
      ],
      14,
    ],
  ];

  it.each(LAYERS)('%s', (_, given, expected) => {
    expect(resolvedOrders(...given).concurrency).toBe(expected);
  });

  it('also inside of a section, key by key; a list is one value', () => {
    const binding = resolvedOrders(
      { retry: { tier0: { maxAttempts: 4 }, tiers: [{ delayMs: '2s' }] } },
      {
        defaults: {
          retry: { tier0: { maxAttempts: 9, initialBackoffMs: 300 }, tiers: [{}, {}] },
        },
      },
    );
    expect(binding.retry.tier0).toEqual({
      maxAttempts: 4,
      initialBackoffMs: 300,
      multiplier: 2,
      maxBackoffMs: 2_000,
      jitter: 'capped',
    });
    expect(binding.retry.tiers.map(({ delayMs }) => delayMs)).toEqual([2_000]);
  });

  it('and the first of several loaders', () => {
    const loaders = [{ defaults: {} }, { defaults: concurrency(5) }, { defaults: concurrency(6) }];
    expect(resolvedOrders({}, {}, { loaders }).concurrency).toBe(5);
  });
});

describe('A binding that is registered later', () => {
  const { context, bindings: existing } = resolveOptions(
    orders({}, { defaults: { concurrency: 4 }, clusters: { eu: { brokers: 'eu:9092' } } }),
  );
  const register = (properties: object, name = 'late') =>
    resolveBinding(name, [{ source: 'register()', properties }], context, existing);

  it('is resolved by the same rules', () => {
    const late = register({ topic: 'late', groupId: 'g', sessionTimeoutMs: '30s' });
    expect(late).toMatchObject({ name: 'late', concurrency: 4, sessionTimeoutMs: 30_000 });
    expect(Object.isFrozen(late.retry.tier0)).toBe(true);
  });

  it('is refused with the same words as at start', () => {
    const wrong = { topik: 'x', groupId: 'g', cluster: 'us', heartbeatIntervalMs: '40s' };
    const atStart = complaintsOf(() =>
      resolveOptions({
        brokers: 'a:1',
        clusters: { eu: { brokers: 'eu:9092' } },
        bindings: { late: wrong as never },
      }),
    );
    const later = complaintsOf(() => register(wrong));
    expect(later.map((line) => line.replace('register()', 'the options'))).toEqual(atStart);
    expect(atStart).toEqual([
      "UNKNOWN_KEY bindings.late.topik: there is no option 'topik' here. Did you mean 'topic'?",
      "REQUIRED bindings.late.topic: is missing: every binding reads a topic. Add topic: 'the-topic'.",
      "UNKNOWN_CLUSTER bindings.late.cluster: there is no cluster 'us'. Known are: default, eu.",
      "SESSION_TIMEOUT bindings.late.sessionTimeoutMs: must be at least three times heartbeatIntervalMs, so that two lost heartbeats do not end the membership: sessionTimeoutMs is 45000 (from the library's defaults), heartbeatIntervalMs is 40000 (from the options). Raise the first to 120000 or lower the second to 15000.",
    ]);
  });

  it('must not share topic and group with another one on its cluster', () => {
    const same = { topic: 'orders.events', groupId: 'order-service' };
    expect(complaintsOf(() => register(same))).toEqual([
      "GROUP_TOPIC bindings.late.groupId: binding 'orders' reads topic 'orders.events' in group 'order-service' too: each of the two would get only a part of the records. Give one of them another groupId, or put both handlers on one binding.",
    ]);
    expect(register({ ...same, cluster: 'eu' }).cluster).toBe('eu');
    expect(register({ ...same, topic: 'other' }).topic).toBe('other');
    expect(register({ ...same, groupId: 'other' }).groupId).toBe('other');
  });

  it('must not read the retry topic of another one in its retry group', () => {
    const trap = { topic: 'orders.events.retry-1', groupId: 'order-service.retry-1' };
    expect(violationsOf(() => register(trap)).map(({ rule }) => rule)).toEqual(['GROUP_TOPIC']);
  });

  it.each(['', 'with space', 'a/b', 'x'.repeat(101), 'ünicode'])('cannot be named %p', (name) => {
    const found = violationsOf(() => register({ topic: 't', groupId: 'g' }, name));
    expect(found.map(({ rule }) => rule)).toEqual(['NAME']);
  });

  it('takes its layers highest first, and says where a wrong value came from', () => {
    const layers = [
      { source: 'an operator', properties: { topic: 't', groupId: 'g', concurrency: 2 } },
      {
        source: '@EventHandler on Late.onEvent',
        path: '@EventHandler on Late.onEvent',
        properties: { concurrency: 3, heartbeatIntervalMs: '20s', acMode: 'x' } as object,
      },
    ];
    expect(complaintsOf(() => resolveBinding('late', layers, context))).toEqual([
      "UNKNOWN_KEY @EventHandler on Late.onEvent.acMode: there is no option 'acMode' here. Did you mean 'ackMode'?",
      "SESSION_TIMEOUT bindings.late.sessionTimeoutMs: must be at least three times heartbeatIntervalMs, so that two lost heartbeats do not end the membership: sessionTimeoutMs is 45000 (from the library's defaults), heartbeatIntervalMs is 20000 (from @EventHandler on Late.onEvent). Raise the first to 60000 or lower the second to 15000.",
    ]);
  });
});
