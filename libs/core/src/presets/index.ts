export type { LoadedOptions, UnusedKey } from '../config/reading/loaded-options.js';
export { PRESET_NAMES, type PresetName } from '../config/reading/preset-name.js';
export { PRESETS, type Preset } from '../config/reading/presets.js';
export { fromConfigTree } from './from-config-tree.js';
export { fromEnvironment, type EnvironmentOptions } from './from-environment.js';
export { fromProperties } from './from-properties.js';
export { loadMessagingProperties } from './load-messaging-properties.js';
export {
  MESSAGING_DEFAULTS,
  MessagingConsumerProperties,
  MessagingKafkaProperties,
  MessagingProducerProperties,
  MessagingProperties,
  MessagingRabbitMqProperties,
  MessagingRetryProperties,
} from './messaging-properties.js';
export { loadResilientConfig } from './resilient-config.js';
