import {
  ConfigurationValidationException,
  type ConfigurationViolation,
} from '../errors/configuration-validation-exception.js';
import type { EventBusProperties } from './properties/event-bus-properties.js';
import { resolveOptions, type OptionLayers } from './resolving/resolve-options.js';
import type { ResolvedBinding } from './resolving/resolved-binding.js';
import type { TopicBindingProperties } from './properties/topic-binding-properties.js';

/** Returns the violations that a call throws; an empty list if it does not throw. */
export function violationsOf(run: () => unknown): readonly ConfigurationViolation[] {
  try {
    run();
    return [];
  } catch (error) {
    if (error instanceof ConfigurationValidationException) return error.violations;
    throw error;
  }
}

/** Returns the violations as texts `rule path: message`, for tables of tests. */
export const complaintsOf = (run: () => unknown): readonly string[] =>
  violationsOf(run).map(({ rule, path, message }) => `${rule} ${path}: ${message}`);

/**
 * Returns valid options with one binding. `properties` and `options` may contain any value, so that
 * a test can make them invalid.
 */
export const orders = (properties: object = {}, options: object = {}): EventBusProperties => ({
  brokers: 'kafka:9092',
  ...options,
  bindings: { orders: { topic: 'orders.events', groupId: 'order-service', ...properties } },
});

export function resolvedOrders(
  properties: Partial<TopicBindingProperties> = {},
  options: EventBusProperties = {},
  layers: OptionLayers = {},
): ResolvedBinding {
  const [binding] = resolveOptions(orders(properties, options), layers).bindings;
  if (!binding) throw new Error('nothing was resolved');
  return binding;
}
