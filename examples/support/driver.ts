import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { memory } from '@nest-event-bus/broker/memory';

const brokers = process.env['KAFKA_BROKERS'];

/** The Kafka that KAFKA_BROKERS names, or else a broker inside this process. */
export const driver = brokers ? kafkajs({ brokers }) : memory();
