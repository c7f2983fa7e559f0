export { EventBusHealthIndicator } from './event-bus-health-indicator.js';
export { EventBusHealthModule } from './event-bus-health.module.js';
export type { HealthEndpointOptions, ReadyIndicator } from './health-endpoints.js';
export type { DegradedOptions } from './indicator-result.js';
export { KafkaHealthIndicator } from './kafka-health-indicator.js';
