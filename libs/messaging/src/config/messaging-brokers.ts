import type { BrokerDriver } from '@nest-event-bus/broker';
import { kafkajs, type KafkajsOptions } from '@nest-event-bus/broker/kafkajs';
import type { MessagingProperties } from '@nest-event-bus/core/presets';
import { MessageBrokerType } from '../core/message-broker-type.js';
import { MessagingConfigurationException } from '../core/messaging-exceptions.js';
import type { MessagingModuleOptions } from './messaging-options.js';

/** A broker that is left out, and why. */
export interface UnusedBroker {
  readonly type: MessageBrokerType;
  readonly reason: string;
}

export interface MessagingBrokers {
  readonly drivers: ReadonlyMap<MessageBrokerType, BrokerDriver>;
  readonly unused: readonly UnusedBroker[];
}

type Choice = BrokerDriver | string;

/**
 * Creates the drivers of the brokers that are configured and switched on. No connection is opened.
 * Throws if an option asks a broker for what it cannot do.
 */
export function messagingBrokers(
  options: MessagingModuleOptions,
  properties: MessagingProperties,
): MessagingBrokers {
  const choices: readonly (readonly [MessageBrokerType, Choice])[] = [
    [MessageBrokerType.KAFKA, kafkaOf(options, properties)],
    [MessageBrokerType.RABBITMQ, rabbitOf(options, properties)],
  ];
  const drivers = new Map<MessageBrokerType, BrokerDriver>();
  const unused: UnusedBroker[] = [];
  for (const [type, choice] of choices) {
    if (typeof choice === 'string') unused.push({ type, reason: choice });
    else drivers.set(type, choice);
  }
  if (properties.producer.transactionalEnabled) refuseWithoutTransactions(drivers);
  return { drivers, unused };
}

function kafkaOf(
  { kafka, runtime }: MessagingModuleOptions,
  properties: MessagingProperties,
): Choice {
  if (!properties.enabled) return 'messaging.enabled is false';
  if (!properties.kafka.enabled) return 'messaging.kafka.enabled is false';
  if (kafka === undefined) return 'MessagingModule has no option kafka';
  return isDriver(kafka) ? kafka : kafkajs(runtime ? { runtime, ...kafka } : kafka);
}

function rabbitOf({ rabbitmq }: MessagingModuleOptions, properties: MessagingProperties): Choice {
  const { enabled, exchangePrefix, queuePrefix } = properties.rabbitmq;
  if (!properties.enabled) return 'messaging.enabled is false';
  if (!enabled) return 'messaging.rabbitmq.enabled is false';
  if (rabbitmq) return rabbitmq({ exchangePrefix, queuePrefix });
  throw new MessagingConfigurationException(
    'messaging.rabbitmq.enabled is true, but MessagingModule has no option rabbitmq. Add a function that creates the driver, or switch RabbitMQ off.',
  );
}

function refuseWithoutTransactions(drivers: ReadonlyMap<MessageBrokerType, BrokerDriver>): void {
  const without = [...drivers].find(([, { capabilities }]) => !capabilities.transactions);
  if (!without) return;
  throw new MessagingConfigurationException(
    `messaging.producer.transactional-enabled is true, but driver '${without[1].name}' of ${without[0]} has no transactions. Switch the option or that broker off.`,
  );
}

const isDriver = (kafka: KafkajsOptions | BrokerDriver): kafka is BrokerDriver =>
  'producer' in kafka && typeof kafka.producer === 'function';
