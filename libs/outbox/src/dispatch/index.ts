export { DispatcherWriterHook } from './dispatcher-writer-hook.js';
export type { OutboxDispatcherOptions } from './dispatcher-options.js';
export { EventInterceptor } from './event-interceptor.js';
export { DefaultInFlightTracker, type InFlightTracker } from './in-flight-tracker.js';
export { OutboxDispatcher } from './outbox-dispatcher.js';
export { OutboxDispatcherBuilder } from './outbox-dispatcher-builder.js';
export type { EventSource, QueuedEvent } from './queued-event.js';
export { ExponentialBackoffRetryPolicy, type RetryPolicy } from './retry-policy.js';
