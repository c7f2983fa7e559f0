import type { EventEnvelope } from '../model/event-envelope.js';

/** Handles the events of one type. An error makes the event wait for a retry, or DEAD. */
export interface OutboxEventListener {
  onEvent(event: EventEnvelope): void | Promise<void>;
}
