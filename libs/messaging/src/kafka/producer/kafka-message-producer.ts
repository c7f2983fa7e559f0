import { MessageBrokerType } from '../../core/message-broker-type.js';
import { BrokerMessageProducer, type ProducerParts } from './broker-message-producer.js';

/** Sends messages to Kafka. */
export class KafkaMessageProducer extends BrokerMessageProducer {
  constructor(parts: ProducerParts) {
    super(MessageBrokerType.KAFKA, parts);
  }
}
