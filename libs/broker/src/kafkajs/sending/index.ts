export { KafkajsProducer, type KafkajsProducerOptions } from './kafkajs-producer.js';
export type { SenderCluster } from './sender-options.js';
