import { OutboxError } from './outbox-error.js';

/** No listener is registered for the aggregate type and the event type of an event. */
export class UnroutableEventException extends OutboxError {
  readonly code = 'OUTBOX_EVENT_UNROUTABLE';
  readonly retriable = false;

  constructor(
    readonly eventId: string,
    readonly aggregateType: string,
    readonly eventType: string,
  ) {
    super(
      `No listener handles '${aggregateType}:${eventType}' of event ${eventId}. Register a listener for exactly this aggregate type and event type, then replay the event.`,
    );
  }
}
