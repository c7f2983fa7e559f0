import type { EventEnvelope } from '../model/event-envelope.js';
import type { DispatchContext, OutboxEventListener } from '../registry/event-listener.js';

/** The result of one event of a batch: undefined if it succeeded. */
export type BatchResult = Error | undefined;

/** Handles many events in one call. In leased mode the relay calls it instead of `onEvent`. */
export interface BatchEventListener extends OutboxEventListener {
  /**
   * Returns a result for each event, in their order. Events of one key are in their order; the
   * listener must not handle a later one if an earlier one of the same key has failed. An error
   * that is thrown is the result of all events.
   */
  onEvents(
    events: readonly EventEnvelope[],
    context?: DispatchContext,
  ): Promise<readonly BatchResult[]>;
}

export function isBatchListener(listener: OutboxEventListener): listener is BatchEventListener {
  return typeof (listener as Partial<BatchEventListener>).onEvents === 'function';
}
