export { KafkaProducer, type KafkaProducerOptions } from './kafka-producer.js';
