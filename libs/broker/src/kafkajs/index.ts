import type { BrokerDriver } from '../port/driver.js';
import { KafkaDriver } from '../client/kafka-driver.js';
import type { KafkajsOptions } from '../client/kafkajs-options.js';

/** Creates the driver for Kafka. No connection is opened before it is needed. */
export function kafkajs(options: KafkajsOptions): BrokerDriver {
  return new KafkaDriver(options);
}

export { PrefetchBudget, type BudgetShare } from '../client/consumer/fetching/prefetch-budget.js';
export type { KafkajsOptions } from '../client/kafkajs-options.js';
export type { BearerToken, SaslOptions } from '../client/sasl-mechanisms.js';
