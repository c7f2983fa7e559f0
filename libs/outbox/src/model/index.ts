export { AggregateType, StringAggregateType, defineAggregateTypes } from './aggregate-type.js';
export { EventStatus } from './event-status.js';
export { type EventType, StringEventType, defineEventTypes } from './event-type.js';
export {
  EventEnvelope,
  type EventEnvelopeInput,
  EventEnvelopeBuilder,
  orderKeyOf,
} from './event-envelope.js';
export { MAX_PAYLOAD_BYTES, type PayloadInput } from './payload.js';
export type { HeadersInput } from './headers.js';
export type { ClaimedEvent, OutboxEvent } from './outbox-event.js';
export { MonotonicUlid } from './ulid.js';
