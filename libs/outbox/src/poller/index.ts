export { OutboxPoller } from './outbox-poller.js';
export { OutboxPollerBuilder } from './outbox-poller-builder.js';
export { DispatcherPollerHandler, type OutboxPollerHandler } from './outbox-poller-handler.js';
export type { ClaimLocking, OutboxPollerOptions } from './poller-options.js';
