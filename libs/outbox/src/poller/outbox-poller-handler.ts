import type { OutboxDispatcher } from '../dispatch/outbox-dispatcher.js';
import type { EventEnvelope } from '../model/event-envelope.js';

/** Takes the events of a poll. */
export interface OutboxPollerHandler {
  /** Returns false if it cannot take the event: the poll stops for this cycle. */
  handle(event: EventEnvelope, attempts: number): boolean | Promise<boolean>;
  /** How many events it can take. Default: `Number.MAX_SAFE_INTEGER`. */
  availableCapacity?(): number;
}

/** Passes the events of a poll to the cold queue of a dispatcher. */
export class DispatcherPollerHandler implements OutboxPollerHandler {
  constructor(
    private readonly dispatcher: Pick<
      OutboxDispatcher,
      'enqueueCold' | 'coldQueueRemainingCapacity'
    >,
  ) {}

  handle(envelope: EventEnvelope, attempts: number): boolean {
    return this.dispatcher.enqueueCold({ envelope, source: 'COLD', attempts });
  }

  availableCapacity(): number {
    return this.dispatcher.coldQueueRemainingCapacity();
  }
}
