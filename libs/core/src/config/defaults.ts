import { deepFreeze } from './plain-object.js';

/** What holds where neither the application nor its preset says anything. */
export const EVENTBUS_DEFAULTS = deepFreeze({
  enabled: true,
  cluster: { clientId: 'nest-event-bus', ssl: false },
  shutdown: { drainTimeoutMs: 30_000 },
  startup: { concurrency: 16 },
  binding: {
    preset: 'connector',
    cluster: 'default',
    listenerType: 'SINGLE',
    ackMode: 'MANUAL_IMMEDIATE',
    concurrency: 1,
    /** Depends on the listener type, once that is known. */
    maxPollRecords: { SINGLE: 50, BATCH: 200 },
    maxPollIntervalMs: 600_000,
    sessionTimeoutMs: 45_000,
    heartbeatIntervalMs: 10_000,
    pollTimeoutMs: 5_000,
    idleBetweenPollsMs: 0,
    autoStartup: true,
    staticMembership: false,
    offsetReset: 'earliest',
    assignmentStrategy: ['sticky', 'range'],
    retry: {
      mode: 'in-line',
      tier0: { maxAttempts: 3, initialBackoffMs: 100, multiplier: 2, maxBackoffMs: 2_000 },
      /** Only where nobody names tiers and the ordering is not STRICT. */
      tiers: [{ delayMs: 10_000 }, { delayMs: 60_000 }, { delayMs: 300_000 }],
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
      topicSuffix: 'DLT',
      strategy: 'STORE_ONLY',
      replay: { maxReplays: 3, cooldownMs: 3_600_000, batchSize: 100 },
      headerProfile: ['eventbus'],
      verifyTopic: false,
    },
    batchFailureStrategy: 'SEEK_TO_FAILED',
    orderingMode: 'RELAXED_IN_RETRY',
    strictExhaustion: 'DLT',
    unknownType: 'skip',
    typeFrom: 'event-type',
    enhancers: 'local',
    rebalance: { drainTimeoutMs: 10_000 },
    expectedProcessingMs: 0,
  },
  /** What a tier has that says no more than its delay. */
  tier: { maxAttempts: 3, topicSuffix: 'retry-{n}', concurrency: 1 },
} as const);
