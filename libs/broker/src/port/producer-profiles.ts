import type { ProducerOptions } from './producer.js';

/**
 * For retry topics and dead letters: rather late than not at all, in order, and without waiting for
 * company. Who waits for one of them gives its `send` a shorter `timeoutMs`, or a `signal`.
 */
export const DURABLE_PRODUCER = Object.freeze({
  idempotent: true,
  lingerMs: 0,
  deliveryTimeoutMs: 600_000,
} as const satisfies ProducerOptions);

/**
 * For the events of an application: an answer in time, good or bad, after three tries of 10 s at
 * most. A broker that dies is no failure: it has a successor sooner.
 */
export const GENERAL_PRODUCER = Object.freeze({
  idempotent: true,
  batchBytes: 16_384,
  lingerMs: 5,
  bufferBytes: 33_554_432,
  // Not every client can read the others: kafkajs has no snappy by itself.
  compression: 'none',
  deliveryTimeoutMs: 30_000,
  requestTimeoutMs: 10_000,
} as const satisfies ProducerOptions);
