export { rabbitmq, rabbitMqCapabilities } from './rabbit-driver.js';
export type { RabbitMqOptions } from './rabbit-options.js';
export { RECORD_HEADERS } from './record-codec.js';
