import {
  ClosedError,
  UnsupportedError,
  type AdminSession,
  type BrokerCapabilities,
  type BrokerDriver,
  type ConsumerSession,
  type ProducerOptions,
  type ProducerSession,
} from '@nest-event-bus/broker';
import { RabbitAdmin } from './rabbit-admin.js';
import { rabbitMqSettings, type RabbitMqOptions, type RabbitMqSettings } from './rabbit-options.js';
import { publishLimits, RabbitProducer } from './rabbit-producer.js';

/** What RabbitMQ can do through this driver. */
export const rabbitMqCapabilities = Object.freeze<BrokerCapabilities>({
  assignors: [],
  compressions: ['none'],
  transactions: false,
  // A message is never sent twice by the driver.
  idempotentSends: true,
  consumers: false,
});

/** Creates the driver for RabbitMQ. No connection is opened before it is needed. */
export function rabbitmq(options: RabbitMqOptions): BrokerDriver {
  return new RabbitDriver(rabbitMqSettings(options));
}

class RabbitDriver implements BrokerDriver {
  readonly name = 'rabbitmq';
  readonly capabilities = rabbitMqCapabilities;
  readonly #sessions = new Set<{ close(): Promise<void> }>();
  #isClosed = false;

  constructor(private readonly settings: RabbitMqSettings) {}

  consumer(): ConsumerSession {
    throw new UnsupportedError(
      'The driver for RabbitMQ only sends. Bind a queue to the exchange of the topic, and read it with a client of RabbitMQ.',
    );
  }

  producer(options: ProducerOptions = {}): ProducerSession {
    return this.#opened(new RabbitProducer(this.settings, publishLimits(options)));
  }

  admin(): AdminSession {
    return this.#opened(new RabbitAdmin(this.settings));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#sessions].map((session) => session.close()));
  }

  #opened<T extends { close(): Promise<void> }>(session: T): T {
    if (this.#isClosed) throw new ClosedError('The driver for RabbitMQ is closed.');
    this.#sessions.add(session);
    return session;
  }
}
