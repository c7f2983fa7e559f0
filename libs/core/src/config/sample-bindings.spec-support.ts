export class TimeoutException extends Error {}
export class ValidationException extends Error {}
export class ServiceUnavailableException extends Error {}

export const errorTypes = { TimeoutException, ValidationException, ServiceUnavailableException };

/** The bindings in the appendix of the specification. */
export const sampleBindings = {
  orders: {
    topic: 'orders.events',
    groupId: 'order-service',
    listenerType: 'BATCH',
    ackMode: 'MANUAL_IMMEDIATE',
    concurrency: 3,
    maxPollRecords: 200,
    staticMembership: true,
    batchFailureStrategy: 'SEEK_TO_FAILED',
    retry: {
      tier0: { maxAttempts: 3, initialBackoffMs: 100, multiplier: 2, maxBackoffMs: '2s' },
      tiers: [
        { delayMs: '10s', maxAttempts: 3, concurrency: 2 },
        { delayMs: '1m', maxAttempts: 3 },
        { delayMs: '5m', maxAttempts: 2 },
      ],
      retryableExceptions: ['TimeoutException'],
      nonRetryableExceptions: ['ValidationException'],
      skipToTierMapping: [{ match: 'ServiceUnavailableException', tier: 2 }],
    },
    circuitBreaker: { enabled: true },
    dlt: {
      strategy: 'ALERT_AND_STORE',
      replay: { maxReplays: 5, cooldownMs: '30m', batchSize: 50 },
    },
  },
  payments: {
    topic: 'payments.commands',
    groupId: 'payment-service',
    listenerType: 'SINGLE',
    concurrency: 2,
    orderingMode: 'STRICT',
    retry: { tier0: { maxAttempts: 5, initialBackoffMs: 200, multiplier: 2 } },
    circuitBreaker: { enabled: true, failureRateThreshold: 30 },
    dlt: { strategy: 'STORE_ONLY' },
  },
  notifications: { topic: 'notifications.outbox', groupId: 'notification-service' },
} as const;
