import type { EventBusModuleOptions } from '@nest-event-bus/core';
import { settings } from './settings.js';

export type DemoBinding = 'orders' | 'payments' | 'notifications';
export const DEMO_BINDINGS: readonly DemoBinding[] = ['orders', 'payments', 'notifications'];

/** Handles many orders at once. Failures of the warehouse open its circuit. */
const orders = {
  topic: 'orders.events',
  groupId: 'order-service',
  listenerType: 'BATCH',
  concurrency: 3,
  maxPollRecords: 200,
  staticMembership: true,
  groupInstanceId: `{binding}-${settings.instance}-{index}`,
  // The delays are short, so that a visitor sees a record pass all tiers.
  retry: { tiers: [{ delayMs: '2s' }, { delayMs: '5s' }, { delayMs: '15s', maxAttempts: 2 }] },
  circuitBreaker: {
    slidingWindowSize: 20,
    minimumNumberOfCalls: 5,
    slowCallDurationMs: '1s',
    waitDurationInOpenStateMs: '5s',
  },
  dlt: {
    strategy: 'ALERT_AND_STORE',
    replay: { maxReplays: 5, cooldownMs: '30m', batchSize: 50 },
  },
} as const;

/** Keeps the order of payments: no retry topics, and a failed payment holds back those behind it. */
const payments = {
  topic: 'payments.commands',
  groupId: 'payment-service',
  listenerType: 'SINGLE',
  concurrency: 2,
  orderingMode: 'STRICT',
  retry: { tier0: { maxAttempts: 5, initialBackoffMs: 200, multiplier: 2 } },
  circuitBreaker: {
    failureRateThreshold: 30,
    slidingWindowSize: 20,
    minimumNumberOfCalls: 5,
    slowCallDurationMs: '1s',
    waitDurationInOpenStateMs: '5s',
  },
  dlt: { strategy: 'STORE_ONLY' },
} as const;

/** Has a topic and a group, and otherwise every default. */
const notifications = { topic: 'notifications.outbox', groupId: 'notification-service' } as const;

export const busOptions: Omit<EventBusModuleOptions, 'brokers' | 'driver'> = {
  defaults: { provisioning: 'create', topics: { partitions: 3 } },
  bindings: { orders, payments, notifications },
  shutdown: { drainTimeoutMs: '5s' },
};
