import { IllegalArgumentError } from '@nest-event-bus/core';
import { MessageBrokerType } from './message-broker-type.js';
import type { MessageProducer } from './message-producer.js';
import { IllegalStateException, MessagingConfigurationException } from './messaging-exceptions.js';

const PRIORITY = [MessageBrokerType.KAFKA, MessageBrokerType.RABBITMQ] as const;

/** Finds the producers of the application by broker. */
export class MessageBrokerFactory {
  constructor(
    private readonly find: () => readonly MessageProducer[],
    private readonly preferred: MessageBrokerType,
  ) {}

  /** Throws IllegalArgumentError if the broker has no producer. */
  getProducer(type: MessageBrokerType): MessageProducer {
    const producer = this.getProducerIfAvailable(type);
    if (producer) return producer;
    const known = [...this.getSupportedBrokers()].join(', ') || 'none';
    throw new IllegalArgumentError(
      `There is no producer for broker ${type}. Configure it in MessagingModule, or use one of: ${known}.`,
    );
  }

  getProducerIfAvailable(type: MessageBrokerType): MessageProducer | undefined {
    return this.#producers().get(type);
  }

  /**
   * Returns the producer of `messaging.default-broker`; without one that of Kafka, then that of
   * RabbitMQ, then the first one. Throws IllegalStateException if there is none.
   */
  getDefaultProducer(): MessageProducer {
    const producers = this.#producers();
    const [first] = producers.values();
    const found = [this.preferred, ...PRIORITY].map((type) => producers.get(type));
    const producer = found.find((each) => each !== undefined) ?? first;
    if (producer) return producer;
    throw new IllegalStateException(
      'There is no message producer. Give MessagingModule a broker, and check messaging.enabled and the switch of the broker.',
    );
  }

  getDefaultBrokerType(): MessageBrokerType {
    return this.getDefaultProducer().getBrokerType();
  }

  isSupported(type: MessageBrokerType): boolean {
    return this.#producers().has(type);
  }

  getSupportedBrokers(): ReadonlySet<MessageBrokerType> {
    return new Set(this.#producers().keys());
  }

  /** Throws if two producers have the same broker, because one of them would never be used. */
  #producers(): ReadonlyMap<MessageBrokerType, MessageProducer> {
    const producers = new Map<MessageBrokerType, MessageProducer>();
    for (const producer of this.find().filter((each) => each.isEnabled())) {
      const type = producer.getBrokerType();
      const other = producers.get(type);
      if (other)
        throw new MessagingConfigurationException(
          `${other.constructor.name} and ${producer.constructor.name} are both producers for broker ${type}. Remove one of them.`,
        );
      producers.set(type, producer);
    }
    return producers;
  }
}
