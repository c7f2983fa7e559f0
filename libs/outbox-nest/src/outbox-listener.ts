import type { AggregateType, EventType } from '@nest-event-bus/outbox';
import { SetMetadata } from '@nestjs/common';

export const OUTBOX_LISTENER = Symbol('OUTBOX_LISTENER');

export interface OutboxListenerOptions {
  /** Default: events without an aggregate type. */
  readonly aggregate?: AggregateType | string;
  readonly event: EventType | string;
}

/**
 * Marks a method that handles the events of one type. It gets the EventEnvelope. An error makes the
 * event wait for a retry, or DEAD.
 */
export const OutboxListener = (options: OutboxListenerOptions): MethodDecorator =>
  SetMetadata(OUTBOX_LISTENER, options);
