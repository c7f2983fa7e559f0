import { complaintsOf, resolvedOrders } from '../configuration.spec-support.js';
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

/** A binding that has every key with its default value. */
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
  onTopicRecreated: 'stop',
  assignmentStrategy: ['cooperative-sticky', 'sticky', 'range'],
  retry: {
    mode: 'in-line',
    tier0: {
      maxAttempts: 3,
      initialBackoffMs: 100,
      multiplier: 2,
      maxBackoffMs: 2_000,
      maxElapsedMs: 0,
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
    replay: { maxReplays: 3, cooldownMs: 3_600_000, batchSize: 100, intervalMs: 300_000 },
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
  failureLog: { level: 'warn', perGroupPerMinute: 5 },
  alerts: {
    class: 'other',
    lagWarning: 0,
    lagCritical: 0,
    ageWarningMs: 0,
    ageCriticalMs: 0,
    dltWarning: 0,
    dltCritical: 10,
    dltAgeWarningMs: 0,
    dltAgeCriticalMs: 0,
  },
  exceptionRouting: [],
  batchFailureStrategy: 'SEEK_TO_FAILED',
  batchRedeliveries: 1,
  orderingMode: 'RELAXED_IN_RETRY',
  strictExhaustion: 'DLT',
  unknownType: 'skip',
  typeFrom: 'event-type',
  deserializer: 'json',
  keyDeserializer: 'auto',
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

describe('resolveOptions() with the sample bindings', () => {
  it('gives every default to a binding that sets only required options', () => {
    expect(bindings[2]).toStrictEqual(NOTIFICATIONS);
  });

  it('resolves a batch listener that enables every feature', () => {
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
          maxElapsedMs: 0,
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
        replay: { maxReplays: 5, cooldownMs: 1_800_000, batchSize: 50, intervalMs: 300_000 },
        headerProfile: ['eventbus'],
        exceptionDetail: 'full',
        publishTimeoutMs: 30_000,
        handlerTimeoutMs: 10_000,
        verifyTopic: false,
      },
    });
  });

  it('gives no retry topics to a binding with STRICT ordering', () => {
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
          maxElapsedMs: 0,
          jitter: 'capped',
        },
        tiers: [],
      },
      circuitBreaker: { ...NOTIFICATIONS.circuitBreaker, enabled: true, failureRateThreshold: 30 },
      dlt: { ...NOTIFICATIONS.dlt, topic: 'payments.commands.DLT' },
    });
  });

  it('returns deeply frozen bindings', () => {
    const isDeeplyFrozen = (value: unknown): boolean =>
      typeof value !== 'object' ||
      value === null ||
      (Object.isFrozen(value) && Object.values(value).every(isDeeplyFrozen));
    expect(bindings.every(isDeeplyFrozen)).toBe(true);
    expect(Object.isFrozen(bindings)).toBe(true);
  });
});

describe('A function among options', () => {
  const redact = () => ({ message: '' });

  it('is passed by reference, but the options around it are merged and frozen', () => {
    const { dlt } = resolvedOrders(
      { dlt: { replay: { batchSize: 7 }, headerProfile: ['spring'] } },
      { defaults: { dlt: { redact, topicSuffix: 'dead' } } },
    );
    expect(dlt).toStrictEqual({
      ...NOTIFICATIONS.dlt,
      topic: 'orders.events.dead',
      topicSuffix: 'dead',
      replay: { maxReplays: 3, cooldownMs: 3_600_000, batchSize: 7, intervalMs: 300_000 },
      headerProfile: ['spring'],
      redact,
    });
    expect([dlt, dlt.replay, dlt.headerProfile].every((part) => Object.isFrozen(part))).toBe(true);
    expect(Object.isFrozen(redact)).toBe(false);
  });

  it.each([
    ['a text', 'no', "got 'no'"],
    ['a class of errors', RangeError, 'got a function'],
  ])('dlt.redact cannot be %s', (_, value, shown) => {
    expect(complaintsOf(() => resolvedOrders({ dlt: { redact: value as never } }))).toEqual([
      `REFERENCE bindings.orders.dlt.redact: must be a function (error) => ({ message, stack }); ${shown}.`,
    ]);
  });
});

describe('A default that depends on another option', () => {
  it('maxPollRecords is 50 for single records and 200 for batches', () => {
    expect(resolvedOrders({ listenerType: 'SINGLE' }).maxPollRecords).toBe(50);
    expect(resolvedOrders({ listenerType: 'BATCH' }).maxPollRecords).toBe(200);
    expect(resolvedOrders({ listenerType: 'BATCH', maxPollRecords: 7 }).maxPollRecords).toBe(7);
  });

  it('retry.tiers stays empty if the binding sets an empty list', () => {
    expect(resolvedOrders({ retry: { tiers: [] } }).retry.tiers).toEqual([]);
  });

  it('the first three tiers have default delays, but a fourth tier requires delayMs', () => {
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

  it('the dead-letter topic is named after the main topic if dlt.topic is not set', () => {
    const dlt = (given: object) => resolvedOrders({ dlt: given }).dlt.topic;
    expect(dlt({ topicSuffix: 'dead' })).toBe('orders.events.dead');
    expect(dlt({ topicSuffix: '-dlq' })).toBe('orders.events-dlq');
    expect(dlt({ topicSuffix: '.error' })).toBe('orders.events.error');
    const defaults = { dlt: { topicSuffix: '-dlq' } };
    expect(resolvedOrders({ dlt: { topic: 'graveyard' } }, { defaults }).dlt.topic).toBe(
      'graveyard',
    );
  });

  it('a binding has no classifier by default, and a given classifier is passed by reference', () => {
    expect(resolvedOrders().classifier).toBeUndefined();
    const classifier = { classify: () => ExceptionRoutingDecision.nextTier(), calls: 0 };
    const defaults = { classifier: { classify: () => ExceptionRoutingDecision.deadLetter() } };
    const binding = resolvedOrders({ classifier }, { defaults });
    expect(binding.classifier).toBe(classifier);
    expect(Object.isFrozen(classifier)).toBe(false);
    expect(resolvedOrders({}, { defaults }).classifier).toBe(defaults.classifier);
  });
});

it('a single assignment strategy becomes a list', () => {
  expect(resolvedOrders({ assignmentStrategy: 'range' }).assignmentStrategy).toEqual(['range']);
});

it('a binding has no naming strategy by default', () => {
  expect(resolvedOrders({})).not.toHaveProperty('naming');
});
