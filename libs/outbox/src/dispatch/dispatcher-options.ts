import type { ListenerRegistry } from '../registry/listener-registry.js';
import type { Runtime } from '../runtime/runtime.js';
import type { OutboxLogger } from '../spi/logger.js';
import type { MetricsExporter } from '../spi/metrics-exporter.js';
import type { OutboxStore } from '../spi/outbox-store.js';
import type { ConnectionProvider } from '../spi/sql-connection.js';
import type { EventInterceptor } from './event-interceptor.js';
import type { InFlightTracker } from './in-flight-tracker.js';
import type { RetryPolicy } from './retry-policy.js';

export interface OutboxDispatcherOptions {
  readonly connectionProvider: ConnectionProvider;
  readonly outboxStore: OutboxStore;
  readonly listenerRegistry: ListenerRegistry;
  readonly inFlightTracker: InFlightTracker;
  readonly retryPolicy: RetryPolicy;
  readonly maxAttempts: number;
  readonly workerCount: number;
  readonly hotQueueCapacity: number;
  readonly coldQueueCapacity: number;
  readonly drainTimeoutMs: number;
  readonly metrics: MetricsExporter;
  readonly interceptors: readonly EventInterceptor[];
  /** `dead`: an event without a listener becomes DEAD at once. `retry`: it waits as a failed one. */
  readonly unroutable: 'dead' | 'retry';
  readonly logger: OutboxLogger;
  readonly runtime: Runtime;
}
