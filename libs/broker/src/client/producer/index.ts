export { KafkajsProducer, type KafkajsProducerOptions } from './kafka-producer.js';
export type { SenderCluster } from './sender-options.js';
