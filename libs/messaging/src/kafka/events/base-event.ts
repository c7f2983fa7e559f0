import { realRuntime } from '@nest-event-bus/broker/runtime';
import { IllegalArgumentError } from '@nest-event-bus/core';
import type { MessageHeaders } from '../../core/message.js';

/** Headers that carry the metadata of an event. */
export const EVENT_HEADERS = Object.freeze({
  type: 'event-type',
  source: 'event-source',
  timestamp: 'event-timestamp',
  correlationId: 'correlation-id',
} as const);

export interface EventMetadataFields {
  readonly eventType: string;
  /** The class that publishes, one of its instances, or a name. */
  readonly eventSource: string | object;
  /** Milliseconds since 1970. Default: now. */
  readonly eventTimestamp?: number;
  /** The key of the message. Default: a new UUID. */
  readonly correlationId?: string;
}

/** What is known of an event beside its payload. */
export class EventMetadata {
  private constructor(
    readonly eventType: string,
    /** Name of the class that published the event. */
    readonly eventSource: string,
    readonly eventTimestamp: number,
    readonly correlationId: string,
  ) {
    Object.freeze(this);
  }

  static of({
    eventType,
    eventSource,
    eventTimestamp = realRuntime.now(),
    correlationId = realRuntime.uuid(),
  }: EventMetadataFields): EventMetadata {
    if (typeof eventType !== 'string' || eventType === '')
      throw new IllegalArgumentError('An event needs an eventType, such as one of EventTypes.');
    return new EventMetadata(eventType, nameOf(eventSource), eventTimestamp, correlationId);
  }

  /** Reads the headers that EventPublisherService writes. Undefined without an event type. */
  static fromHeaders(headers: MessageHeaders): EventMetadata | undefined {
    const eventType = headers[EVENT_HEADERS.type];
    if (eventType === undefined || eventType === '') return undefined;
    return new EventMetadata(
      eventType,
      headers[EVENT_HEADERS.source] ?? '',
      Number(headers[EVENT_HEADERS.timestamp] ?? Number.NaN),
      headers[EVENT_HEADERS.correlationId] ?? '',
    );
  }

  toHeaders(): MessageHeaders {
    return {
      [EVENT_HEADERS.type]: this.eventType,
      [EVENT_HEADERS.source]: this.eventSource,
      [EVENT_HEADERS.timestamp]: String(this.eventTimestamp),
      [EVENT_HEADERS.correlationId]: this.correlationId,
    };
  }
}

/** An event with its metadata. */
export class BaseEvent<T = unknown> {
  private constructor(
    readonly metadata: EventMetadata,
    readonly payload: T,
  ) {
    Object.freeze(this);
  }

  static of<T>(metadata: EventMetadata | EventMetadataFields, payload: T): BaseEvent<T> {
    const own = metadata instanceof EventMetadata ? metadata : EventMetadata.of(metadata);
    return new BaseEvent(own, payload);
  }
}

function nameOf(source: string | object): string {
  if (typeof source === 'string') return source;
  return typeof source === 'function' ? source.name : source.constructor.name;
}
