import { GENERAL_PRODUCER, type BrokerDriver, type NewTopic } from '@nest-event-bus/broker';
import { realRuntime, type Runtime } from '@nest-event-bus/broker/runtime';
import { KafkaMetrics } from '@nest-event-bus/core';
import { loadMessagingProperties, type MessagingProperties } from '@nest-event-bus/core/presets';
import {
  Inject,
  Injectable,
  Optional,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { MessageBrokerType } from '../core/message-broker-type.js';
import { catalogueTopics, topicNames, type TopicNames } from '../kafka/config/topic-catalogue.js';
import { TopicProvisioner } from '../kafka/config/topic-provisioner.js';
import { MessagingHealth } from '../kafka/health/messaging-health.js';
import type { ProducerParts } from '../kafka/producer/broker-message-producer.js';
import { KafkaMessageProducer } from '../kafka/producer/kafka-message-producer.js';
import { RabbitMessageProducer } from '../kafka/producer/rabbit-message-producer.js';
import { PlainSender, type RecordSender } from '../kafka/producer/record-sender.js';
import { TransactionalSender } from '../kafka/producer/transactional-sender.js';
import { messagingBrokers, type MessagingBrokers } from './messaging-brokers.js';
import { MessagingLogger } from './messaging-logger.js';
import { MESSAGING_OPTIONS, type MessagingModuleOptions } from './messaging-options.js';

/** Creates the parts of messaging, and connects them with the lifecycle of the application. */
@Injectable()
export class MessagingRuntime implements OnModuleInit, OnApplicationShutdown {
  readonly logger = new MessagingLogger();
  readonly properties: MessagingProperties;
  readonly topics: TopicNames;
  readonly kafka: KafkaMessageProducer;
  readonly rabbitmq: RabbitMessageProducer;
  readonly health: MessagingHealth;
  readonly #brokers: MessagingBrokers;
  readonly #provisioners: readonly TopicProvisioner[];
  readonly #runtime: Runtime;

  constructor(
    @Inject(MESSAGING_OPTIONS) private readonly options: MessagingModuleOptions,
    // The metrics of the event bus, which exports them. Without the bus nobody reads them.
    @Optional() @Inject(KafkaMetrics) metrics?: KafkaMetrics,
  ) {
    this.#runtime = options.runtime ?? realRuntime;
    this.properties = loadMessagingProperties(options.properties);
    this.topics = topicNames(this.properties.kafka.topicPrefix);
    this.#brokers = messagingBrokers(options, this.properties);
    const { drivers } = this.#brokers;
    const counts = metrics ?? new KafkaMetrics(this.#runtime);
    const partsOf = (type: MessageBrokerType): ProducerParts => this.#partsOf(type, counts);
    this.kafka = new KafkaMessageProducer(partsOf(MessageBrokerType.KAFKA));
    this.rabbitmq = new RabbitMessageProducer(partsOf(MessageBrokerType.RABBITMQ));
    this.health = new MessagingHealth(drivers, this.#runtime);
    this.#provisioners =
      options.provisioning === 'none'
        ? []
        : [...drivers].map(
            ([type, driver]) =>
              new TopicProvisioner(driver, this.#topicsFor(type), this.#runtime, this.logger),
          );
  }

  /** Creates the topics before the event bus starts, which would create them with its defaults. */
  async onModuleInit(): Promise<void> {
    for (const { type, reason } of this.#brokers.unused)
      this.logger.info(`Messaging does not use ${type}: ${reason}`);
    const { defaultBroker } = this.properties;
    if (this.#brokers.drivers.size > 0 && !this.#brokers.drivers.has(defaultBroker))
      this.logger.warn(
        `messaging.default-broker is ${defaultBroker}, which is not used here. Another broker is the default.`,
      );
    await Promise.all(this.#provisioners.map((provisioner) => provisioner.start()));
  }

  /** Closes the producers in the last hook, because requests may send messages until then. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.allSettled(this.#provisioners.map((provisioner) => provisioner.close()));
    await Promise.allSettled([this.kafka.close(), this.rabbitmq.close(), this.health.close()]);
    const drivers = [...this.#brokers.drivers.values()];
    const closed = await Promise.allSettled(drivers.map((driver) => driver.close()));
    for (const { status } of closed)
      if (status === 'rejected') this.logger.error('A driver could not be closed cleanly.');
  }

  #partsOf(type: MessageBrokerType, metrics: KafkaMetrics): ProducerParts {
    const driver = this.#brokers.drivers.get(type);
    const sendTimeoutMs = this.properties.producer.sendTimeoutSeconds * 1_000;
    return {
      sender: driver && this.#senderOf(driver, sendTimeoutMs),
      metrics,
      sendTimeoutMs,
      types: this.options.types ?? {},
    };
  }

  #senderOf(driver: BrokerDriver, sendTimeoutMs: number): RecordSender {
    const { transactionalEnabled, transactionalIdPrefix } = this.properties.producer;
    const general = {
      ...GENERAL_PRODUCER,
      deliveryTimeoutMs: sendTimeoutMs,
      requestTimeoutMs: Math.min(GENERAL_PRODUCER.requestTimeoutMs, sendTimeoutMs),
      ...(driver.capabilities.compressions.includes('snappy')
        ? ({ compression: 'snappy' } as const)
        : {}),
    };
    if (!transactionalEnabled) return new PlainSender(() => driver.producer(general));
    const transactionalId = (): string => transactionalIdPrefix + this.#runtime.uuid();
    return new TransactionalSender(
      () => driver.producer({ ...general, transactionalId: transactionalId() }),
      this.#runtime,
    );
  }

  /** A topic of RabbitMQ is an exchange: it keeps no messages, so it has only a name. */
  #topicsFor(type: MessageBrokerType): readonly NewTopic[] {
    const topics = this.#topicsToCreate();
    return type === MessageBrokerType.RABBITMQ ? topics.map(({ name }) => ({ name })) : topics;
  }

  #topicsToCreate(): readonly NewTopic[] {
    const { kafka } = this.properties;
    const { topics } = this.options;
    if (!topics) return catalogueTopics(kafka);
    return topics.map(({ name, partitions, retentionMs }) => ({
      name,
      partitions: partitions ?? kafka.defaultPartitions,
      replicationFactor: kafka.defaultReplicationFactor,
      config: { 'retention.ms': String(retentionMs ?? kafka.defaultRetentionMs) },
    }));
  }
}
