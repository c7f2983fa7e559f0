import type { AdminSession } from './admin.js';
import type { AssignorName, ConsumerOptions, ConsumerSession } from './consumer.js';
import type { Compression, ProducerOptions, ProducerSession } from './producer.js';

export interface BrokerCapabilities {
  readonly assignors: readonly AssignorName[];
  /**
   * Compressions that a producer of this process can write. Consumers read every codec of Kafka.
   */
  readonly compressions: readonly Compression[];
  readonly transactions: boolean;
  /** True if a send that is retried never writes a record twice. */
  readonly idempotentSends: boolean;
  /** False if the driver only sends, so that no binding can have handlers on it. Default true. */
  readonly consumers?: boolean;
}

/**
 * A connection to a Kafka cluster. Creates sessions and owns their connections. `close` closes all
 * of them, is idempotent, and is limited in time.
 */
export interface BrokerDriver {
  readonly name: string;
  readonly capabilities: BrokerCapabilities;
  consumer(options: ConsumerOptions): ConsumerSession;
  producer(options?: ProducerOptions): ProducerSession;
  admin(): AdminSession;
  close(): Promise<void>;
}

/** The logger of a driver. The driver never logs a payload or a secret. */
export interface DriverLogger {
  debug(message: string, context?: Readonly<Record<string, unknown>>): void;
  info(message: string, context?: Readonly<Record<string, unknown>>): void;
  warn(message: string, context?: Readonly<Record<string, unknown>>): void;
  error(message: string, context?: Readonly<Record<string, unknown>>): void;
}
