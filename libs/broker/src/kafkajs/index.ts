import type { BrokerDriver } from '../port/driver.js';
import { KafkajsDriver } from './kafkajs-driver.js';
import type { KafkajsOptions } from './kafkajs-options.js';

/** The driver for Kafka. Nothing connects before it is needed. */
export function kafkajs(options: KafkajsOptions): BrokerDriver {
  return new KafkajsDriver(options);
}

export { PrefetchBudget } from './consuming/prefetch-budget.js';
export type { KafkajsOptions } from './kafkajs-options.js';
export type { SaslOptions } from './sasl-options.js';
