import { required } from '../errors/required-field-error.js';
import { realRuntime } from '../runtime/real-runtime.js';
import type { Runtime } from '../runtime/runtime.js';
import { consoleLogger, type OutboxLogger } from '../spi/logger.js';
import { MetricsExporter } from '../spi/metrics-exporter.js';
import type { OutboxStore } from '../spi/outbox-store.js';
import type { ConnectionProvider } from '../spi/sql-connection.js';
import { JsonCodec } from '../util/json-codec.js';
import type { OutboxPollerHandler } from './outbox-poller-handler.js';
import type { OutboxPollerOptions } from './poller-options.js';

type Values = Partial<OutboxPollerOptions>;

/** The options of a poller with their defaults. */
export class OutboxPollerBuilder<P> {
  #values: Values = {};

  constructor(private readonly create: (options: OutboxPollerOptions) => P) {}

  connectionProvider(connectionProvider: ConnectionProvider): this {
    return this.#with({ connectionProvider });
  }

  outboxStore(outboxStore: OutboxStore): this {
    return this.#with({ outboxStore });
  }

  handler(handler: OutboxPollerHandler): this {
    return this.#with({ handler });
  }

  batchSize(batchSize: number): this {
    return this.#with({ batchSize });
  }

  intervalMs(intervalMs: number): this {
    return this.#with({ intervalMs });
  }

  metrics(metrics: MetricsExporter): this {
    return this.#with({ metrics });
  }

  jsonCodec(jsonCodec: JsonCodec): this {
    return this.#with({ jsonCodec });
  }

  logger(logger: OutboxLogger): this {
    return this.#with({ logger });
  }

  runtime(runtime: Runtime): this {
    return this.#with({ runtime });
  }

  /** Leaves out events that are younger, because the hot path may be dispatching them. Default 0. */
  skipRecent(skipRecentMs: number): this {
    return this.#with({ skipRecentMs });
  }

  /** Claims events for this owner, so that several nodes can poll one table. */
  claimLocking(ownerId: string, timeoutMs: number): this {
    return this.#with({ claimLocking: { ownerId, timeoutMs } });
  }

  build(): P {
    const need = <K extends keyof Values>(field: K): NonNullable<Values[K]> =>
      required<Values[K]>('OutboxPoller.builder()', field, this.#values[field]);
    return this.create({
      skipRecentMs: 0,
      batchSize: 50,
      intervalMs: 5_000,
      metrics: MetricsExporter.NOOP,
      claimLocking: undefined,
      jsonCodec: JsonCodec.getDefault(),
      logger: consoleLogger,
      runtime: realRuntime,
      ...this.#values,
      connectionProvider: need('connectionProvider'),
      outboxStore: need('outboxStore'),
      handler: need('handler'),
    });
  }

  #with(values: Values): this {
    this.#values = { ...this.#values, ...values };
    return this;
  }
}
