import type { AdminSession } from '../port/admin.js';
import type { ConsumerOptions, ConsumerSession } from '../port/consumer.js';
import type { BrokerCapabilities, BrokerDriver, DriverLogger } from '../port/driver.js';
import { ClosedError, InvalidOptionError } from '../port/errors.js';
import type { ProducerOptions, ProducerSession } from '../port/producer.js';
import { rejectUnknownKeys } from '../port/option-values.js';
import { validateConsumerOptions } from '../port/validate-consumer-options.js';
import { validateProducerOptions } from '../port/validate-producer-options.js';
import { writableCompressions } from '../records/index.js';
import type { Runtime } from '../runtime/index.js';
import { MemoryAdmin } from './client/admin/memory-admin.js';
import { MemoryConsumer } from './client/consumer/memory-consumer.js';
import { Connection } from './client/connection.js';
import { MemoryProducer } from './client/producer/memory-producer.js';
import { MemoryBroker } from './memory-broker.js';

export interface MemoryOptions {
  /** The broker. Several drivers can share one, as separate processes do. Default: a new broker. */
  readonly broker?: MemoryBroker;
  /** The runtime of the broker that is created by default. A given broker has its own runtime. */
  readonly runtime?: Runtime;
  /**
   * Identifies this driver in member ids, group descriptions and faults. Default: a unique name.
   */
  readonly clientId?: string;
  readonly logger?: DriverLogger;
  /** The timeout of a request. Default 30 s. */
  readonly requestTimeoutMs?: number;
  /** The interval at which sessions look for new partitions and deleted topics. Default 5 s. */
  readonly metadataMaxAgeMs?: number;
  /** False for a cluster without transactions: each is refused. Default true. */
  readonly transactions?: boolean;
}

const KEYS = [
  'broker',
  'runtime',
  'clientId',
  'logger',
  'requestTimeoutMs',
  'metadataMaxAgeMs',
  'transactions',
] as const satisfies readonly (keyof MemoryOptions)[];

export const memoryCapabilities: BrokerCapabilities = {
  assignors: ['cooperative-sticky', 'sticky', 'range'],
  compressions: writableCompressions,
  transactions: true,
  idempotentSends: true,
};

/**
 * Creates a driver for a broker in this process, with real codecs and a real group protocol, but
 * without a network.
 */
export function memory(options: MemoryOptions = {}): BrokerDriver {
  rejectUnknownKeys('memory', options, KEYS);
  return new MemoryDriver(options);
}

interface Closable {
  close(): Promise<void>;
}

class MemoryDriver implements BrokerDriver {
  readonly name = 'memory';
  readonly capabilities: BrokerCapabilities;
  readonly #connection: Connection;
  readonly #sessions = new Set<Closable>();
  #closing: Promise<void> | undefined;

  constructor(private readonly options: MemoryOptions) {
    this.capabilities = { ...memoryCapabilities, transactions: options.transactions ?? true };
    const broker = options.broker ?? new MemoryBroker({ runtime: options.runtime });
    if (options.runtime && options.runtime !== broker.runtime)
      throw new InvalidOptionError(
        'memory.runtime is not the runtime of memory.broker: they must use one clock. Pass the runtime to the broker.',
      );
    this.#connection = new Connection(
      broker.cluster,
      options.clientId ?? `memory-${broker.runtime.uuid().slice(0, 8)}`,
      positive('requestTimeoutMs', options.requestTimeoutMs ?? 30_000),
    );
  }

  consumer(options: ConsumerOptions): ConsumerSession {
    const resolved = validateConsumerOptions(options, this.capabilities);
    const { logger, metadataMaxAgeMs = 5_000 } = this.options;
    const settings = { logger, metadataMaxAgeMs: positive('metadataMaxAgeMs', metadataMaxAgeMs) };
    return this.#keep(new MemoryConsumer(this.#connection, resolved, settings));
  }

  producer(options: ProducerOptions = {}): ProducerSession {
    const resolved = validateProducerOptions(options, this.capabilities);
    const { transactions } = this.capabilities;
    return this.#keep(new MemoryProducer(this.#connection, resolved, { transactions }));
  }

  admin(): AdminSession {
    return this.#keep(new MemoryAdmin(this.#connection));
  }

  close(): Promise<void> {
    this.#closing ??= Promise.allSettled(
      [...this.#sessions].map((session) => session.close()),
    ).then(() => undefined);
    return this.#closing;
  }

  #keep<S extends Closable>(session: S): S {
    if (this.#closing) throw new ClosedError('This driver was closed: make another one.');
    this.#sessions.add(session);
    return session;
  }
}

function positive(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new InvalidOptionError(
    `memory.${name} must be a whole number of at least 1; got ${value}.`,
  );
}
