export { EventBusHealthIndicator } from './event-bus-health-indicator.js';
export { EventBusHealthModule } from './event-bus-health.module.js';
