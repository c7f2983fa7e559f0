import type { EventEnvelope } from '../model/event-envelope.js';

/** What a listener may know of its call. */
export interface DispatchContext {
  /**
   * The time after which another process may take the event, at the moment of reading; undefined
   * without a lease. A call that publishes should begin no attempt after it.
   */
  readonly leaseLeftMs?: number;
}

/** Handles the events of one type. An error makes the event wait for a retry, or DEAD. */
export interface OutboxEventListener {
  onEvent(event: EventEnvelope, context?: DispatchContext): void | Promise<void>;
}
