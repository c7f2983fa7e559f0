import { errorReasonOf } from '../port/error-text.js';
import { silentLogger } from '../port/silent-logger.js';
import type { AdminSession } from '../port/admin.js';
import type { ConsumerOptions, ConsumerSession } from '../port/consumer.js';
import type { BrokerCapabilities, BrokerDriver, DriverLogger } from '../port/driver.js';
import { ClosedError } from '../port/errors.js';
import type { ProducerOptions, ProducerSession } from '../port/producer.js';
import { validateConsumerOptions } from '../port/validate-consumer-options.js';
import { writableCompressions } from '../records/index.js';
import { realRuntime } from '../runtime/index.js';
import { KafkaAdmin } from './admin/kafka-admin.js';
import { KafkaConsumer } from './consumer/kafka-consumer.js';
import { processBudget, type PrefetchBudget } from './consumer/fetching/prefetch-budget.js';
import {
  validateKafkajsOptions,
  type ClusterSettings,
  type KafkajsOptions,
} from './kafkajs-options.js';
import { KafkaProducer } from './producer/kafka-producer.js';
import { Cluster, requireKafkajsVersion } from '../wire/index.js';

const CAPABILITIES: BrokerCapabilities = {
  assignors: ['cooperative-sticky', 'sticky', 'range'],
  compressions: writableCompressions,
  transactions: true,
  idempotentSends: true,
};

interface Closable {
  close(): Promise<void>;
}

/**
 * The driver for Kafka: the consumer and the producer of this library, on connections of kafkajs.
 */
export class KafkaDriver implements BrokerDriver {
  readonly name = 'kafkajs';
  readonly capabilities = CAPABILITIES;
  readonly #cluster: Cluster;
  readonly #budget: PrefetchBudget;
  readonly #logger: DriverLogger;
  readonly #settings: ClusterSettings;
  readonly #sessions = new Set<Closable>();
  #closing: Promise<void> | undefined;
  #sessionCount = 0;
  #hasFallenBack = false;

  constructor(options: KafkajsOptions) {
    requireKafkajsVersion();
    const settings = validateKafkajsOptions(options);
    this.#budget = options.prefetchBudget ?? processBudget;
    this.#logger = options.logger ?? silentLogger;
    this.#settings = settings;
    this.#cluster = new Cluster({ ...settings, runtime: options.runtime ?? realRuntime });
  }

  consumer(options: ConsumerOptions): ConsumerSession {
    this.#requireOpen();
    const resolved = validateConsumerOptions(options, this.capabilities);
    return this.#open('consumer', (sessionId, onClosed) => {
      if (resolved.clientId !== null) this.#cluster.nameSession(sessionId, resolved.clientId);
      return new KafkaConsumer({
        cluster: this.#cluster,
        sessionId,
        options: resolved,
        metadataMaxAgeMs: this.#settings.metadataMaxAgeMs,
        rackId: this.#settings.rackId,
        share: this.#budget.join(),
        logger: this.#logger,
        onFallback: (error) => this.#warnOfFallback(resolved.groupId, error),
        onClosed: () => {
          this.#cluster.forgetSession(sessionId);
          onClosed();
        },
      });
    });
  }

  producer(options: ProducerOptions = {}): ProducerSession {
    this.#requireOpen();
    return this.#open(
      'producer',
      (producerId, onClosed) =>
        new KafkaProducer({
          cluster: this.#cluster,
          producerId,
          options,
          logger: this.#logger,
          onClosed,
        }),
    );
  }

  admin(): AdminSession {
    this.#requireOpen();
    return this.#open(
      'admin',
      (sessionId, onClosed) => new KafkaAdmin({ cluster: this.#cluster, sessionId, onClosed }),
    );
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const closed = await Promise.allSettled([...this.#sessions].map((session) => session.close()));
    this.#cluster.close();
    for (const result of closed)
      if (result.status === 'rejected')
        this.#logger.warn('A session did not close cleanly', {
          error: errorReasonOf(result.reason),
        });
  }

  /** Keeps the session until it is closed, because closing the driver closes all open sessions. */
  #open<T extends Closable>(kind: string, make: (id: string, onClosed: () => void) => T): T {
    const session: T = make(`${kind}-${++this.#sessionCount}`, () =>
      this.#sessions.delete(session),
    );
    this.#sessions.add(session);
    return session;
  }

  /**
   * Logs the fallback once: a protocol that one coordinator lacks is missing in the whole cluster.
   */
  #warnOfFallback(groupId: string, { message }: Error): void {
    if (this.#hasFallenBack) return;
    this.#hasFallenBack = true;
    this.#logger.warn(
      `Group "${groupId}" wants groupProtocol 'consumer', which this cluster does not offer, so its members use 'classic'. The protocol needs Kafka 4 with "consumer" in group.coordinator.rebalance.protocols and the feature group.version at 1; or set groupProtocol to 'classic'.`,
      { groupId, reason: message },
    );
  }

  #requireOpen(): void {
    if (this.#closing) throw new ClosedError('The driver was closed. Create a new one.');
  }
}
