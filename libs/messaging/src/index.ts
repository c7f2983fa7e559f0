export { MessagingModule } from './config/messaging.module.js';
export type {
  MessagingModuleAsyncOptions,
  MessagingModuleExtras,
  MessagingModuleOptions,
  MessagingTopic,
  RabbitMqPrefixes,
} from './config/messaging-options.js';
export { MessageBrokerFactory } from './core/message-broker-factory.js';
export { MessageBrokerType } from './core/message-broker-type.js';
export type {
  BatchMessageHandler,
  MessageConsumer,
  MessageHandler,
} from './core/message-consumer.js';
export { MessageProducer } from './core/message-producer.js';
export { MessageResult } from './core/message-result.js';
export { Message, type MessageHeaders } from './core/message.js';
export {
  IllegalStateException,
  MessagingConfigurationException,
  MessagingException,
} from './core/messaging-exceptions.js';
export {
  catalogueTopics,
  topicNames,
  TOPICS,
  type TopicConstant,
  type TopicNames,
} from './kafka/config/topic-catalogue.js';
export {
  BaseEvent,
  EVENT_HEADERS,
  EventMetadata,
  type EventMetadataFields,
} from './kafka/events/base-event.js';
export { EventTypes, type EventTypeName } from './kafka/events/event-types.js';
export { MessagingHealth, type MessagingHealthReport } from './kafka/health/messaging-health.js';
export {
  BrokerMessageProducer,
  type ProducerParts,
} from './kafka/producer/broker-message-producer.js';
export { KafkaMessageProducer } from './kafka/producer/kafka-message-producer.js';
export {
  MESSAGE_ID_HEADER,
  TYPE_ID_HEADER,
  type PayloadTypes,
} from './kafka/producer/outgoing-message.js';
export { RabbitMessageProducer } from './kafka/producer/rabbit-message-producer.js';
export type { RecordSender } from './kafka/producer/record-sender.js';
export { EventPublisherService } from './service/event-publisher-service.js';
