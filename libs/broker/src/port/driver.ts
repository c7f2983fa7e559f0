import type { AdminSession } from './admin.js';
import type { AssignorName, ConsumerOptions, ConsumerSession } from './consumer.js';
import type { Compression, ProducerOptions, ProducerSession } from './producer.js';

export interface BrokerCapabilities {
  readonly assignors: readonly AssignorName[];
  /** What a producer of this process can write. Reading needs none of them: every codec of Kafka is read. */
  readonly compressions: readonly Compression[];
  readonly transactions: boolean;
  /** A retried send never writes a record twice. */
  readonly idempotentSends: boolean;
}

/**
 * A way to a broker. It hands out sessions and owns their connections; `close` closes them all,
 * is idempotent and bounded.
 */
export interface BrokerDriver {
  readonly name: string;
  readonly capabilities: BrokerCapabilities;
  consumer(options: ConsumerOptions): ConsumerSession;
  producer(options?: ProducerOptions): ProducerSession;
  admin(): AdminSession;
  close(): Promise<void>;
}

/** Where a driver says what an operator may want to know. It never logs a payload or a secret. */
export interface DriverLogger {
  debug(message: string, context?: Readonly<Record<string, unknown>>): void;
  info(message: string, context?: Readonly<Record<string, unknown>>): void;
  warn(message: string, context?: Readonly<Record<string, unknown>>): void;
  error(message: string, context?: Readonly<Record<string, unknown>>): void;
}
