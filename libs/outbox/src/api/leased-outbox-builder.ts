import type { EventInterceptor } from '../dispatch/event-interceptor.js';
import { ExponentialBackoffRetryPolicy } from '../dispatch/retry-policy.js';
import { required } from '../errors/required-field-error.js';
import { DefaultFaultClassifier } from '../leased/fault-classifier.js';
import type { LeasedRelayOptions } from '../leased/leased-options.js';
import { LeasedRelay } from '../leased/leased-relay.js';
import { RelayWriterHook } from '../leased/relay-writer-hook.js';
import { realRuntime } from '../runtime/real-runtime.js';
import { consoleLogger } from '../spi/logger.js';
import { MetricsExporter } from '../spi/metrics-exporter.js';
import type { TxContext } from '../spi/tx-context.js';
import { JsonCodec } from '../util/json-codec.js';
import type { OutboxParts } from './outbox.js';
import { OutboxWriter } from './outbox-writer.js';

/** What a leased outbox needs, and every option of its relay. */
export type LeasedOutboxOptions = Partial<Omit<LeasedRelayOptions, 'interceptors'>> & {
  readonly txContext?: TxContext;
};

/** Builds an outbox whose claims have leases and tokens. */
export class LeasedOutboxBuilder<O> {
  #values: LeasedOutboxOptions = {};
  readonly #interceptors: EventInterceptor[] = [];

  constructor(private readonly create: (parts: OutboxParts) => O) {}

  /** Sets options. A later call replaces what an earlier one has set. */
  options(options: LeasedOutboxOptions): this {
    this.#values = { ...this.#values, ...options };
    return this;
  }

  interceptor(...interceptors: readonly EventInterceptor[]): this {
    this.#interceptors.push(...interceptors);
    return this;
  }

  build(): O {
    const { txContext, ...values } = this.#values;
    const tx = required('Outbox.leased()', 'txContext', txContext);
    const options = this.#complete(values);
    const relay = new LeasedRelay(options);
    const { outboxStore, order, logger } = options;
    const writer = new OutboxWriter(tx, outboxStore, new RelayWriterHook(relay), {
      logger,
      lockKeys: order === 'key',
    });
    relay.start();
    return this.create({ writer, dispatcher: relay, wake: () => relay.wake() });
  }

  #complete(values: LeasedOutboxOptions): LeasedRelayOptions {
    const runtime = values.runtime ?? realRuntime;
    const leaseMs = values.leaseMs ?? 30_000;
    return {
      retryPolicy: new ExponentialBackoffRetryPolicy(200, 60_000, () => runtime.random()),
      faultClassifier: new DefaultFaultClassifier(),
      jsonCodec: JsonCodec.getDefault(),
      metrics: MetricsExporter.NOOP,
      logger: consoleLogger,
      order: 'key',
      deadKey: 'pass',
      unroutable: 'dead',
      minLeaseLeftMs: leaseMs / 3,
      batchSize: 500,
      workerCount: 4,
      concurrency: 16,
      maxAttempts: 10,
      maxUnfinishedAttempts: 3,
      intervalMs: 5_000,
      drainTimeoutMs: 5_000,
      ...values,
      leaseMs,
      runtime,
      interceptors: [...this.#interceptors],
      connectionProvider: required(
        'Outbox.leased()',
        'connectionProvider',
        values.connectionProvider,
      ),
      outboxStore: required('Outbox.leased()', 'outboxStore', values.outboxStore),
      listenerRegistry: required('Outbox.leased()', 'listenerRegistry', values.listenerRegistry),
    };
  }
}
