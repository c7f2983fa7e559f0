import {
  ClosedError,
  DURABLE_PRODUCER,
  GENERAL_PRODUCER,
  type BrokerDriver,
  type DriverLogger,
  type ProducerOptions,
  type ProducerSession,
} from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedCluster } from '../config/resolving/resolved-options.js';
import { UnknownClusterException } from '../errors/container-errors.js';
import { Violations } from '../config/validation/violations.js';

interface Cluster {
  readonly settings: ResolvedCluster;
  readonly driver: BrokerDriver;
  producer: ProducerSession | undefined;
  durableProducer: ProducerSession | undefined;
  compressingProducer: ProducerSession | undefined;
}

/**
 * Largest record that the durable producers accept. It is so large that only the limit of the topic
 * (`max.message.bytes`) decides. Brokers accept no request above 100 MiB.
 */
const LARGEST_RECORD = 96 * 1024 * 1024;

/** Time for the metadata of a new topic to reach all brokers. */
const MISSING_TOPIC_TIMEOUT_MS = 1_000;

/** A missing topic fails a write early, so that it is reported soon. The write is repeated. */
const DURABLE: ProducerOptions = {
  ...DURABLE_PRODUCER,
  missingTopicTimeoutMs: MISSING_TOPIC_TIMEOUT_MS,
  maxRequestBytes: LARGEST_RECORD,
  bufferBytes: LARGEST_RECORD,
};

/**
 * Fails early if the topic of an event does not exist, because a request of the application waits for the
 * result. Limits the request timeout to the delivery timeout, since one request must not outlast the whole
 * delivery.
 */
function generalOptions({ producer }: ResolvedCluster): ProducerOptions {
  const options = { ...GENERAL_PRODUCER, ...producer };
  const { requestTimeoutMs, deliveryTimeoutMs } = options;
  return {
    ...options,
    requestTimeoutMs: Math.min(requestTimeoutMs, deliveryTimeoutMs),
    missingTopicTimeoutMs: Math.min(MISSING_TOPIC_TIMEOUT_MS, deliveryTimeoutMs),
  };
}

/** The clusters of the application by alias: each has its own driver, credentials and producers. */
export class Clusters {
  readonly #opened = new Map<string, Cluster>();
  #closed: Promise<void> | undefined;

  constructor(
    private readonly settings: Readonly<Record<string, ResolvedCluster>>,
    private readonly runtime: Runtime,
    private readonly logger: DriverLogger,
  ) {}

  get aliases(): readonly string[] {
    return Object.keys(this.settings);
  }

  /**
   * Throws at startup if a driver does not support the configured compression. Otherwise only the
   * first published event would fail.
   */
  requireCompressions(): void {
    const violations = new Violations();
    for (const [alias, { producer }] of Object.entries(this.settings)) {
      const { compression } = producer;
      if (compression === 'none') continue;
      const driver = this.driver(alias);
      const { compressions } = driver.capabilities;
      if (compressions.includes(compression)) continue;
      const path = `clusters.${alias}.producer.compression`;
      const message = `is '${compression}', which driver '${driver.name}' cannot write here. Choose one of: ${compressions.join(', ')}.`;
      violations.add('COMPRESSION', path, compression, message);
    }
    violations.throwIfAny();
  }

  driver(alias: string): BrokerDriver {
    return this.#open(alias).driver;
  }

  /**
   * Returns the producer for all events that are published to this cluster. Created at first use.
   */
  producer(alias: string): ProducerSession {
    const cluster = this.#open(alias);
    cluster.producer ??= cluster.driver.producer(generalOptions(cluster.settings));
    return cluster.producer;
  }

  /**
   * Returns the producer for retry and dead-letter topics: all in-sync replicas acknowledge, the
   * order is kept, and nothing lingers. It is a separate producer, so that published events cannot
   * delay dead letters.
   */
  durableProducer(alias: string): ProducerSession {
    const cluster = this.#open(alias);
    cluster.durableProducer ??= cluster.driver.producer(DURABLE);
    return cluster.durableProducer;
  }

  /**
   * Returns a durable producer that compresses. A record that arrived compressed may fit into its
   * topic only in this way. Returns undefined if the driver cannot compress.
   */
  compressingProducer(alias: string): ProducerSession | undefined {
    const cluster = this.#open(alias);
    if (!cluster.driver.capabilities.compressions.includes('gzip')) return undefined;
    cluster.compressingProducer ??= cluster.driver.producer({ ...DURABLE, compression: 'gzip' });
    return cluster.compressingProducer;
  }

  /**
   * Closes the producers first, so that pending sends end (within their timeout) before the
   * connections are closed.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  #open(alias: string): Cluster {
    const existing = this.#opened.get(alias);
    if (existing) return existing;
    // A driver that is opened after close() would never be closed.
    if (this.#closed)
      throw new ClosedError(
        'The event bus is closed. Publish before the application has shut down.',
      );
    const settings = this.settings[alias];
    if (!settings) {
      throw new UnknownClusterException(alias, this.aliases);
    }
    const driver = this.#driverOf(settings);
    const cluster: Cluster = {
      settings,
      driver,
      producer: undefined,
      durableProducer: undefined,
      compressingProducer: undefined,
    };
    this.#opened.set(alias, cluster);
    return cluster;
  }

  /**
   * Returns the driver of a cluster. A driver that the options contain belongs to the bus from then
   * on, and is closed with it.
   */
  #driverOf({ driver, ...options }: ResolvedCluster): BrokerDriver {
    if (driver) return driver;
    const { brokers, clientId, ssl, sasl, rackId, metadataMaxAgeMs } = options;
    return kafkajs({
      brokers: brokers ?? [],
      clientId,
      ssl,
      sasl,
      rackId,
      metadataMaxAgeMs,
      runtime: this.runtime,
      logger: this.logger,
    });
  }

  async #close(): Promise<void> {
    const clusters = [...this.#opened.values()];
    const results = [
      ...(await Promise.allSettled(
        clusters.flatMap(({ producer, durableProducer, compressingProducer }) =>
          [producer, durableProducer, compressingProducer].map(async (session) => session?.close()),
        ),
      )),
      ...(await Promise.allSettled(clusters.map(({ driver }) => driver.close()))),
    ];
    for (const result of results) {
      if (result.status === 'rejected') {
        this.logger.error('A producer or driver of a cluster could not be closed cleanly', {
          error: result.reason,
        });
      }
    }
  }
}
