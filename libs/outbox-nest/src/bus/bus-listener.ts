import {
  EventPublishException,
  type EventPublisher,
  EventsPublishException,
} from '@nest-event-bus/core';
import type {
  BatchEventListener,
  BatchResult,
  DispatchContext,
  EventEnvelope,
} from '@nest-event-bus/outbox';

export interface ToBindingOptions {
  /** The key of the record. Default: the aggregate id. */
  readonly key?: (event: EventEnvelope) => string | null;
  /** Writes the event type, which selects the handler. Default true. */
  readonly type?: boolean;
}

/** The part of EventPublisher that is used, with the name of a binding that is known at run time. */
interface Publisher {
  publishAll(
    binding: string,
    events: readonly object[],
    options: { readonly timeoutMs?: number },
  ): Promise<readonly unknown[]>;
}

/**
 * Publishes events to a binding of the bus. The payload is written as it is. The headers are those
 * of the event, and `message-id` and `x-outbox-event-id` with its id, by which consumers recognise
 * an event that is published twice.
 */
export class BusListener implements BatchEventListener {
  readonly #publisher: Publisher;

  constructor(
    publisher: EventPublisher,
    private readonly binding: string,
    private readonly options: ToBindingOptions = {},
  ) {
    this.#publisher = publisher;
  }

  async onEvent(event: EventEnvelope, context?: DispatchContext): Promise<void> {
    const [error] = await this.onEvents([event], context);
    if (error) throw error;
  }

  /**
   * No attempt begins after the end of the lease. A process that was frozen until then would
   * otherwise publish what another process has published before.
   */
  async onEvents(
    events: readonly EventEnvelope[],
    context?: DispatchContext,
  ): Promise<readonly BatchResult[]> {
    const leftMs = context?.leaseLeftMs;
    try {
      await this.#publisher.publishAll(
        this.binding,
        events.map((event) => this.#toPublish(event)),
        leftMs === undefined ? {} : { timeoutMs: Math.max(1, Math.floor(leftMs)) },
      );
      return events.map(() => undefined);
    } catch (error) {
      if (!(error instanceof EventsPublishException)) throw error;
      return error.results.map((result) =>
        result instanceof EventPublishException ? result : undefined,
      );
    }
  }

  #toPublish(event: EventEnvelope): object {
    const { key = ({ aggregateId }) => aggregateId, type = true } = this.options;
    return {
      event: Buffer.from(event.payloadBytes),
      key: key(event),
      ...(type ? { type: event.eventType } : {}),
      timestamp: event.occurredAt,
      headers: {
        ...Object.fromEntries(event.headers),
        'message-id': event.eventId,
        'x-outbox-event-id': event.eventId,
      },
    };
  }
}
