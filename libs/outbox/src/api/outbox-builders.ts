import { DispatcherWriterHook } from '../dispatch/dispatcher-writer-hook.js';
import type { EventInterceptor } from '../dispatch/event-interceptor.js';
import { OutboxDispatcher } from '../dispatch/outbox-dispatcher.js';
import type { RetryPolicy } from '../dispatch/retry-policy.js';
import { IllegalStateError } from '../errors/argument-errors.js';
import { required } from '../errors/required-field-error.js';
import { OutboxPoller } from '../poller/outbox-poller.js';
import { DispatcherPollerHandler } from '../poller/outbox-poller-handler.js';
import { newOwnerId } from '../poller/owner-id.js';
import type { ClaimLocking } from '../poller/poller-options.js';
import { OutboxPurgeScheduler } from '../purge/outbox-purge-scheduler.js';
import type { ListenerRegistry } from '../registry/listener-registry.js';
import { realRuntime } from '../runtime/real-runtime.js';
import type { Runtime } from '../runtime/runtime.js';
import type { EventPurger } from '../spi/event-purger.js';
import { consoleLogger, type OutboxLogger } from '../spi/logger.js';
import { MetricsExporter } from '../spi/metrics-exporter.js';
import type { OutboxStore } from '../spi/outbox-store.js';
import type { ConnectionProvider } from '../spi/sql-connection.js';
import type { TxContext } from '../spi/tx-context.js';
import { WriterHook } from '../spi/writer-hook.js';
import { JsonCodec } from '../util/json-codec.js';
import type { OutboxParts } from './outbox.js';
import { OutboxWriter } from './outbox-writer.js';

interface Values {
  connectionProvider?: ConnectionProvider;
  txContext?: TxContext;
  outboxStore?: OutboxStore;
  listenerRegistry?: ListenerRegistry;
  metrics?: MetricsExporter;
  jsonCodec?: JsonCodec;
  intervalMs?: number;
  batchSize?: number;
  skipRecentMs?: number;
  drainTimeoutMs?: number;
  logger?: OutboxLogger;
  runtime?: Runtime;
  workerCount?: number;
  hotQueueCapacity?: number;
  coldQueueCapacity?: number;
  maxAttempts?: number;
  retryPolicy?: RetryPolicy;
  claimLocking?: ClaimLocking;
  purger?: EventPurger;
  retentionMs?: number;
  purgeBatchSize?: number;
  purgeIntervalSeconds?: number;
}

type Create<O> = (parts: OutboxParts) => O;

abstract class OutboxBuilder<O> {
  protected values: Values = {};
  readonly #interceptors: EventInterceptor[] = [];

  constructor(protected readonly create: Create<O>) {}

  connectionProvider(connectionProvider: ConnectionProvider): this {
    return this.with({ connectionProvider });
  }

  txContext(txContext: TxContext): this {
    return this.with({ txContext });
  }

  outboxStore(outboxStore: OutboxStore): this {
    return this.with({ outboxStore });
  }

  listenerRegistry(listenerRegistry: ListenerRegistry): this {
    return this.with({ listenerRegistry });
  }

  metrics(metrics: MetricsExporter): this {
    return this.with({ metrics });
  }

  jsonCodec(jsonCodec: JsonCodec): this {
    return this.with({ jsonCodec });
  }

  /** The interval of polls. Default 5000. */
  intervalMs(intervalMs: number): this {
    return this.with({ intervalMs });
  }

  /** The events of one poll. Default 50. */
  batchSize(batchSize: number): this {
    return this.with({ batchSize });
  }

  /** How long `close()` waits for queued events. Default 5000. */
  drainTimeoutMs(drainTimeoutMs: number): this {
    return this.with({ drainTimeoutMs });
  }

  logger(logger: OutboxLogger): this {
    return this.with({ logger });
  }

  runtime(runtime: Runtime): this {
    return this.with({ runtime });
  }

  /** Polls leave out events that are younger. Default 0. */
  skipRecent(skipRecentMs: number): this {
    return this.with({ skipRecentMs });
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

  abstract build(): O;

  protected with(values: Values): this {
    this.values = { ...this.values, ...values };
    return this;
  }

  protected need<K extends keyof Values>(field: K): NonNullable<Values[K]> {
    return required<Values[K]>(this.constructor.name, field, this.values[field]);
  }

  protected get log(): OutboxLogger {
    return this.values.logger ?? consoleLogger;
  }

  /** Builds an outbox that dispatches: first the dispatcher, then the poller, then the writer. */
  protected buildDispatching(
    fixed: Values,
    createHook: (dispatcher: OutboxDispatcher) => WriterHook,
  ): O {
    const values = { ...this.values, ...fixed };
    for (const field of [
      'connectionProvider',
      'txContext',
      'outboxStore',
      'listenerRegistry',
    ] as const)
      this.need(field);
    const dispatcher = this.#buildDispatcher(values);
    try {
      const poller = this.#buildPoller(values, dispatcher);
      const writer = new OutboxWriter(
        this.need('txContext'),
        this.need('outboxStore'),
        createHook(dispatcher),
        {
          logger: this.log,
        },
      );
      poller.start();
      return this.create({ writer, dispatcher, poller, wake: () => poller.wake() });
    } catch (error) {
      void dispatcher.close();
      throw error;
    }
  }

  #buildDispatcher(values: Values): OutboxDispatcher {
    const builder = OutboxDispatcher.builder()
      .connectionProvider(this.need('connectionProvider'))
      .outboxStore(this.need('outboxStore'))
      .listenerRegistry(this.need('listenerRegistry'))
      .interceptors(this.#interceptors)
      .logger(this.log)
      .metrics(values.metrics ?? MetricsExporter.NOOP)
      .runtime(values.runtime ?? realRuntime);
    if (values.workerCount !== undefined) builder.workerCount(values.workerCount);
    if (values.hotQueueCapacity !== undefined) builder.hotQueueCapacity(values.hotQueueCapacity);
    if (values.coldQueueCapacity !== undefined) builder.coldQueueCapacity(values.coldQueueCapacity);
    if (values.maxAttempts !== undefined) builder.maxAttempts(values.maxAttempts);
    if (values.retryPolicy !== undefined) builder.retryPolicy(values.retryPolicy);
    if (values.drainTimeoutMs !== undefined) builder.drainTimeoutMs(values.drainTimeoutMs);
    return builder.build();
  }

  #buildPoller(values: Values, dispatcher: OutboxDispatcher): OutboxPoller {
    const builder = OutboxPoller.builder()
      .connectionProvider(this.need('connectionProvider'))
      .outboxStore(this.need('outboxStore'))
      .handler(new DispatcherPollerHandler(dispatcher))
      .logger(this.log)
      .metrics(values.metrics ?? MetricsExporter.NOOP)
      .jsonCodec(values.jsonCodec ?? JsonCodec.getDefault())
      .runtime(values.runtime ?? realRuntime);
    const { claimLocking } = values;
    if (claimLocking) builder.claimLocking(claimLocking.ownerId, claimLocking.timeoutMs);
    if (values.intervalMs !== undefined) builder.intervalMs(values.intervalMs);
    if (values.batchSize !== undefined) builder.batchSize(values.batchSize);
    if (values.skipRecentMs !== undefined) builder.skipRecent(values.skipRecentMs);
    return builder.build();
  }

  protected dispatcherHook(dispatcher: OutboxDispatcher): WriterHook {
    return new DispatcherWriterHook(dispatcher, this.values.metrics, this.log);
  }
}

abstract class HotOutboxBuilder<O> extends OutboxBuilder<O> {
  /** Default 4. */
  workerCount(workerCount: number): this {
    return this.with({ workerCount });
  }

  /** Default 1000. */
  hotQueueCapacity(hotQueueCapacity: number): this {
    return this.with({ hotQueueCapacity });
  }

  /** Default 1000. */
  coldQueueCapacity(coldQueueCapacity: number): this {
    return this.with({ coldQueueCapacity });
  }

  /** Default 10. */
  maxAttempts(maxAttempts: number): this {
    return this.with({ maxAttempts });
  }

  retryPolicy(retryPolicy: RetryPolicy): this {
    return this.with({ retryPolicy });
  }
}

export class SingleNodeOutboxBuilder<O> extends HotOutboxBuilder<O> {
  build(): O {
    return this.buildDispatching({}, (dispatcher) => this.dispatcherHook(dispatcher));
  }
}

export class MultiNodeOutboxBuilder<O> extends HotOutboxBuilder<O> {
  /** Required. Claims expire after the time. Without an owner id, the process gets one of its own. */
  claimLocking(timeoutMs: number): this;
  claimLocking(ownerId: string, timeoutMs: number): this;
  claimLocking(first: string | number, second?: number): this {
    const ownerId =
      typeof first === 'string' ? first : newOwnerId(this.values.runtime ?? realRuntime);
    const timeoutMs = typeof first === 'string' ? (second ?? 0) : first;
    return this.with({ claimLocking: { ownerId, timeoutMs } });
  }

  build(): O {
    if (!this.values.claimLocking)
      throw new IllegalStateError(
        'Outbox.multiNode() needs claimLocking(timeoutMs), so that two nodes never poll the same event.',
      );
    return this.buildDispatching({}, (dispatcher) => this.dispatcherHook(dispatcher));
  }
}

export class OrderedOutboxBuilder<O> extends OutboxBuilder<O> {
  build(): O {
    return this.buildDispatching({ workerCount: 1, maxAttempts: 1 }, () => WriterHook.NOOP);
  }
}

export class WriterOnlyOutboxBuilder<O> extends OutboxBuilder<O> {
  /** Deletes old events. It needs a connectionProvider. */
  purger(purger: EventPurger): this {
    return this.with({ purger });
  }

  /** Events that are older are deleted. Default 7 days. */
  purgeRetention(retentionMs: number): this {
    return this.with({ retentionMs });
  }

  /** Default 500. */
  purgeBatchSize(purgeBatchSize: number): this {
    return this.with({ purgeBatchSize });
  }

  /** Default 3600. */
  purgeIntervalSeconds(purgeIntervalSeconds: number): this {
    return this.with({ purgeIntervalSeconds });
  }

  build(): O {
    const writer = new OutboxWriter(
      this.need('txContext'),
      this.need('outboxStore'),
      WriterHook.NOOP,
      {
        logger: this.log,
      },
    );
    return this.create({ writer, purgeScheduler: this.#startPurge() });
  }

  #startPurge(): OutboxPurgeScheduler | undefined {
    const { purger, retentionMs, purgeBatchSize, purgeIntervalSeconds, runtime } = this.values;
    if (!purger) return undefined;
    const scheduler = new OutboxPurgeScheduler({
      connectionProvider: this.need('connectionProvider'),
      purger,
      retentionMs,
      batchSize: purgeBatchSize,
      intervalSeconds: purgeIntervalSeconds,
      logger: this.log,
      runtime,
    });
    scheduler.start();
    return scheduler;
  }
}
