import type { BrokerDriver } from '@nest-event-bus/broker';
import type { KafkajsOptions } from '@nest-event-bus/broker/kafkajs';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { MessagingRabbitMqProperties } from '@nest-event-bus/core/presets';
import type { InjectionToken, ModuleMetadata, OptionalFactoryDependency } from '@nestjs/common';
import type { PayloadTypes } from '../kafka/producer/outgoing-message.js';

/** A topic to create. Its defaults are those of `messaging.kafka.default-*`. */
export interface MessagingTopic {
  readonly name: string;
  readonly partitions?: number;
  readonly retentionMs?: number;
}

/** The prefixes of names on RabbitMQ, from `messaging.rabbitmq.*`. */
export type RabbitMqPrefixes = Pick<MessagingRabbitMqProperties, 'exchangePrefix' | 'queuePrefix'>;

export interface MessagingModuleOptions {
  /**
   * `messaging.*` as the text of a .properties file, as flat keys, or as a tree. Keys of consumers
   * and retries are options of the event bus: pass the same text to `fromProperties`.
   */
  readonly properties?: string | object;
  /**
   * How Kafka is reached: options of the driver, or a driver, which is closed with the module.
   * Without it there is no producer for Kafka.
   */
  readonly kafka?: KafkajsOptions | BrokerDriver;
  /**
   * Creates the driver of RabbitMQ with the prefixes of `messaging.rabbitmq.*`. Called only if
   * `messaging.rabbitmq.enabled` is true. The driver is closed with the module.
   */
  readonly rabbitmq?: (prefixes: RabbitMqPrefixes) => BrokerDriver;
  /** Topics to create. Default: those of the catalogue. */
  readonly topics?: readonly MessagingTopic[];
  /**
   * `create` creates missing topics at the start and does not change others; `none` creates none.
   * Default `create`.
   */
  readonly provisioning?: 'create' | 'none';
  /** Payload classes by the type id that their messages have in the header `__TypeId__`. */
  readonly types?: PayloadTypes;
  /** Time and randomness. Tests replace it. */
  readonly runtime?: Runtime;
}

export interface MessagingModuleExtras {
  /** True if every module may inject what the module exports. Default true. */
  readonly isGlobal?: boolean;
}

export interface MessagingModuleAsyncOptions
  extends Pick<ModuleMetadata, 'imports'>, MessagingModuleExtras {
  readonly inject?: (InjectionToken | OptionalFactoryDependency)[];
  readonly useFactory: (
    ...dependencies: never[]
  ) => MessagingModuleOptions | Promise<MessagingModuleOptions>;
}

export const MESSAGING_OPTIONS = Symbol('MESSAGING_OPTIONS');
