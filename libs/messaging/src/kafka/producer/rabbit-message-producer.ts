import { MessageBrokerType } from '../../core/message-broker-type.js';
import { BrokerMessageProducer, type ProducerParts } from './broker-message-producer.js';

/** Sends messages to RabbitMQ. */
export class RabbitMessageProducer extends BrokerMessageProducer {
  constructor(parts: ProducerParts) {
    super(MessageBrokerType.RABBITMQ, parts);
  }
}
