import { Module, type DynamicModule, type InjectionToken, type Provider } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { MessageBrokerFactory } from '../core/message-broker-factory.js';
import { MessageProducer } from '../core/message-producer.js';
import { MessagingHealth } from '../kafka/health/messaging-health.js';
import { KafkaMessageProducer } from '../kafka/producer/kafka-message-producer.js';
import { RabbitMessageProducer } from '../kafka/producer/rabbit-message-producer.js';
import { EventPublisherService } from '../service/event-publisher-service.js';
import {
  MESSAGING_OPTIONS,
  type MessagingModuleAsyncOptions,
  type MessagingModuleExtras,
  type MessagingModuleOptions,
} from './messaging-options.js';
import { MessagingRuntime } from './messaging-runtime.js';

const partOfRuntime = (
  provide: InjectionToken,
  of: (runtime: MessagingRuntime) => object,
): Provider => ({ provide, inject: [MessagingRuntime], useFactory: of });

const providers: readonly Provider[] = [
  MessagingRuntime,
  partOfRuntime(KafkaMessageProducer, ({ kafka }) => kafka),
  partOfRuntime(RabbitMessageProducer, ({ rabbitmq }) => rabbitmq),
  partOfRuntime(MessagingHealth, ({ health }) => health),
  {
    provide: MessageBrokerFactory,
    inject: [DiscoveryService, MessagingRuntime],
    useFactory: (discovery: DiscoveryService, { properties }: MessagingRuntime) =>
      new MessageBrokerFactory(() => producersIn(discovery), properties.defaultBroker),
  },
  {
    provide: EventPublisherService,
    inject: [MessageBrokerFactory, MessagingRuntime],
    useFactory: (factory: MessageBrokerFactory, { topics, logger }: MessagingRuntime) =>
      new EventPublisherService(factory, topics, logger),
  },
];

/** Messages of any broker: inject MessageBrokerFactory, a producer, or EventPublisherService. */
@Module({})
export class MessagingModule {
  static forRoot({
    isGlobal,
    ...options
  }: MessagingModuleOptions & MessagingModuleExtras = {}): DynamicModule {
    return moduleWith({ provide: MESSAGING_OPTIONS, useValue: options }, { isGlobal });
  }

  static forRootAsync({
    imports,
    isGlobal,
    ...factory
  }: MessagingModuleAsyncOptions): DynamicModule {
    return moduleWith({ provide: MESSAGING_OPTIONS, ...factory }, { isGlobal }, imports);
  }
}

function moduleWith(
  options: Provider,
  { isGlobal = true }: MessagingModuleExtras,
  imports: MessagingModuleAsyncOptions['imports'] = [],
): DynamicModule {
  return {
    module: MessagingModule,
    global: isGlobal,
    imports: [DiscoveryModule, ...imports],
    providers: [options, ...providers],
    exports: [
      KafkaMessageProducer,
      RabbitMessageProducer,
      MessagingHealth,
      MessageBrokerFactory,
      EventPublisherService,
    ],
  };
}

/** Returns every producer of the application once, although several tokens may provide it. */
function producersIn(discovery: DiscoveryService): readonly MessageProducer[] {
  const instances = discovery.getProviders().map(({ instance }): unknown => instance);
  return [...new Set(instances.filter((each) => each instanceof MessageProducer))];
}
