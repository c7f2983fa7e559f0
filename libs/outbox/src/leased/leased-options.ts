import type { EventInterceptor } from '../dispatch/event-interceptor.js';
import type { RetryPolicy } from '../dispatch/retry-policy.js';
import { duration, positiveDuration, positiveInteger } from '../errors/checks.js';
import { IllegalArgumentError } from '../errors/argument-errors.js';
import type { ListenerRegistry } from '../registry/listener-registry.js';
import type { Runtime } from '../runtime/runtime.js';
import type { LeasedOutboxStore, LeaseRequest } from '../spi/leased-outbox-store.js';
import type { OutboxLogger } from '../spi/logger.js';
import type { MetricsExporter } from '../spi/metrics-exporter.js';
import type { ConnectionProvider } from '../spi/sql-connection.js';
import type { JsonCodec } from '../util/json-codec.js';
import type { FaultClassifier } from './fault-classifier.js';

export interface LeasedRelayOptions {
  readonly connectionProvider: ConnectionProvider;
  readonly outboxStore: LeasedOutboxStore;
  readonly listenerRegistry: ListenerRegistry;
  readonly interceptors: readonly EventInterceptor[];
  readonly retryPolicy: RetryPolicy;
  readonly faultClassifier: FaultClassifier;
  readonly jsonCodec: JsonCodec;
  readonly metrics: MetricsExporter;
  readonly logger: OutboxLogger;
  readonly runtime: Runtime;
  /** `key`: events of one key are dispatched in the order of their commits. */
  readonly order: LeaseRequest['order'];
  /** What becomes of the later events of a key when one is DEAD. */
  readonly deadKey: 'block' | 'pass';
  readonly unroutable: 'dead' | 'retry';
  readonly leaseMs: number;
  /** No listener is called with less time than this left of the lease. */
  readonly minLeaseLeftMs: number;
  /** The events of one lease. */
  readonly batchSize: number;
  /** The leases that are in work at the same time. */
  readonly workerCount: number;
  /** The calls of `onEvent` at the same time within one lease. */
  readonly concurrency: number;
  readonly maxAttempts: number;
  /** After this number of attempts that never ended, an event is DEAD without another one. */
  readonly maxUnfinishedAttempts: number;
  /** The interval of polls that nothing has woken. */
  readonly intervalMs: number;
  readonly drainTimeoutMs: number;
}

export function checkLeasedOptions(options: LeasedRelayOptions): void {
  for (const name of [
    'batchSize',
    'workerCount',
    'concurrency',
    'maxAttempts',
    'maxUnfinishedAttempts',
  ] as const)
    positiveInteger(name, options[name]);
  positiveDuration('leaseMs', options.leaseMs);
  positiveDuration('intervalMs', options.intervalMs);
  duration('drainTimeoutMs', options.drainTimeoutMs);
  duration('minLeaseLeftMs', options.minLeaseLeftMs);
  if (options.minLeaseLeftMs >= options.leaseMs)
    throw new IllegalArgumentError('minLeaseLeftMs must be smaller than leaseMs.');
}
