import type { ProducerOptions } from './producer.js';

/**
 * A profile for retry topics and dead letters: late delivery is better than none, records stay in
 * order, and batching does not delay them. Pass a shorter `timeoutMs` or a `signal` to `send` when
 * a caller waits for the result.
 */
export const DURABLE_PRODUCER = Object.freeze({
  idempotent: true,
  lingerMs: 0,
  deliveryTimeoutMs: 600_000,
} as const satisfies ProducerOptions);

/**
 * A profile for events of an application: a result in time after at most three attempts of 10 s.
 * The failure of one broker is no error, because another one becomes leader sooner.
 */
export const GENERAL_PRODUCER = Object.freeze({
  idempotent: true,
  batchBytes: 16_384,
  lingerMs: 5,
  bufferBytes: 33_554_432,
  // Clients without codecs, such as kafkajs for snappy, can read uncompressed batches only.
  compression: 'none',
  deliveryTimeoutMs: 30_000,
  requestTimeoutMs: 10_000,
} as const satisfies ProducerOptions);
