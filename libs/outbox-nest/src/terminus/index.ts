export { OutboxHealthIndicator, type OutboxDegradedOptions } from './outbox-health-indicator.js';
export { OutboxHealthModule } from './outbox-health.module.js';
