import { required } from '../errors/required-field-error.js';
import type { ListenerRegistry } from '../registry/listener-registry.js';
import { realRuntime } from '../runtime/real-runtime.js';
import type { Runtime } from '../runtime/runtime.js';
import { consoleLogger, type OutboxLogger } from '../spi/logger.js';
import { MetricsExporter } from '../spi/metrics-exporter.js';
import type { OutboxStore } from '../spi/outbox-store.js';
import type { ConnectionProvider } from '../spi/sql-connection.js';
import type { OutboxDispatcherOptions } from './dispatcher-options.js';
import type { EventInterceptor } from './event-interceptor.js';
import { DefaultInFlightTracker, type InFlightTracker } from './in-flight-tracker.js';
import { ExponentialBackoffRetryPolicy, type RetryPolicy } from './retry-policy.js';

type Values = Partial<OutboxDispatcherOptions>;

/** The options of a dispatcher with the defaults. */
export class OutboxDispatcherBuilder<D> {
  #values: Values = {};
  readonly #interceptors: EventInterceptor[] = [];

  constructor(private readonly create: (options: OutboxDispatcherOptions) => D) {}

  connectionProvider(connectionProvider: ConnectionProvider): this {
    return this.#with({ connectionProvider });
  }

  outboxStore(outboxStore: OutboxStore): this {
    return this.#with({ outboxStore });
  }

  listenerRegistry(listenerRegistry: ListenerRegistry): this {
    return this.#with({ listenerRegistry });
  }

  inFlightTracker(inFlightTracker: InFlightTracker): this {
    return this.#with({ inFlightTracker });
  }

  retryPolicy(retryPolicy: RetryPolicy): this {
    return this.#with({ retryPolicy });
  }

  maxAttempts(maxAttempts: number): this {
    return this.#with({ maxAttempts });
  }

  workerCount(workerCount: number): this {
    return this.#with({ workerCount });
  }

  hotQueueCapacity(hotQueueCapacity: number): this {
    return this.#with({ hotQueueCapacity });
  }

  coldQueueCapacity(coldQueueCapacity: number): this {
    return this.#with({ coldQueueCapacity });
  }

  drainTimeoutMs(drainTimeoutMs: number): this {
    return this.#with({ drainTimeoutMs });
  }

  metrics(metrics: MetricsExporter): this {
    return this.#with({ metrics });
  }

  unroutable(unroutable: OutboxDispatcherOptions['unroutable']): this {
    return this.#with({ unroutable });
  }

  logger(logger: OutboxLogger): this {
    return this.#with({ logger });
  }

  runtime(runtime: Runtime): this {
    return this.#with({ runtime });
  }

  /** Adds an interceptor. It can be called more than once. */
  interceptor(interceptor: EventInterceptor): this {
    this.#interceptors.push(interceptor);
    return this;
  }

  interceptors(interceptors: readonly EventInterceptor[]): this {
    this.#interceptors.push(...interceptors);
    return this;
  }

  build(): D {
    const need = <K extends keyof Values>(field: K): NonNullable<Values[K]> =>
      required<Values[K]>('OutboxDispatcher.builder()', field, this.#values[field]);
    const runtime = this.#values.runtime ?? realRuntime;
    return this.create({
      inFlightTracker: new DefaultInFlightTracker(),
      retryPolicy: new ExponentialBackoffRetryPolicy(200, 60_000, () => runtime.random()),
      maxAttempts: 10,
      workerCount: 4,
      hotQueueCapacity: 1_000,
      coldQueueCapacity: 1_000,
      drainTimeoutMs: 5_000,
      metrics: MetricsExporter.NOOP,
      unroutable: 'dead',
      logger: consoleLogger,
      ...this.#values,
      runtime,
      interceptors: [...this.#interceptors],
      connectionProvider: need('connectionProvider'),
      outboxStore: need('outboxStore'),
      listenerRegistry: need('listenerRegistry'),
    });
  }

  #with(values: Values): this {
    this.#values = { ...this.#values, ...values };
    return this;
  }
}
