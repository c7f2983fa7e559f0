import type { ProducerSession } from '@nest-event-bus/broker';
import type { EventBusTracer } from '../model/extension-points/event-bus-tracer.js';
import type { BindingRef } from '../model/states/binding-ref.js';
import type {
  AnyBindingName,
  CheckedBindingRef,
  EventOf,
} from '../model/states/event-bus-bindings.js';
import type { Serializer } from '../model/extension-points/serializer.js';
import { EventPublishException } from '../errors/publish-errors.js';
import type { EventResult } from './events-publish-exception.js';
import { outgoingRecord } from './outgoing-record.js';
import { publishAll } from './publish-all.js';
import { publishedOrUnknown, publishFailure } from './publish-result.js';
import type { PublishMeter } from './publish-meters.js';
import type { PublishedEvent } from './published-event.js';
import type { PublishCause } from './trace-headers.js';
import { serializeEvent } from './serialize-event.js';

/** Topic, format and producer for the events of a binding. */
export interface PublishTarget {
  readonly binding: string;
  readonly topic: string;
  readonly typeFrom: string;
  readonly serializer: Serializer;
  /** Returns the producer. Throws if the bus is closed. */
  readonly producer: () => ProducerSession;
  /** Counts what is published. Omitted if metrics are disabled. */
  readonly meter?: PublishMeter;
  /** Traces what is published. Omitted if nothing is traced. */
  readonly tracer?: Pick<EventBusTracer, 'send'> | undefined;
  /** Resolves when the topic was created. Left out if the bus does not create it. */
  readonly created?: () => Promise<void>;
}

export interface PublishOptions {
  /**
   * Key of the record. Records with the same key keep their order. Without a key the producer
   * chooses the partition.
   */
  readonly key?: string | Buffer | null;
  /** Event type, which selects the handler with `@EventHandler(binding, { type })`. */
  readonly type?: string;
  readonly headers?: Readonly<
    Record<string, string | Buffer | null | readonly (string | Buffer)[]>
  >;
  /** The record that is being handled. Its trace continues with this event. */
  readonly cause?: PublishCause;
  /** Timestamp in milliseconds since 1970. Default: now. */
  readonly timestamp?: number;
  /** Cancels the event if it was not sent yet. */
  readonly signal?: AbortSignal;
  /** No attempt begins after this time, if it is shorter than the time-out of the producer. */
  readonly timeoutMs?: number;
}

/** An event of `publishAll`, with the options of `publish`. */
export interface EventToPublish<T = unknown> extends Omit<PublishOptions, 'signal' | 'timeoutMs'> {
  readonly event: T;
}

/** Writes an event to the topic of a binding, in the format that its handlers read. */
export class EventPublisher {
  constructor(private readonly targetOf: (binding: BindingRef) => PublishTarget) {}

  /**
   * Publishes an event. Resolves when all in-sync replicas have it. A Buffer is written unchanged,
   * null as a tombstone, and anything else in the format of the binding.
   */
  async publish<Name extends AnyBindingName>(
    binding: CheckedBindingRef<Name>,
    event: EventOf<Name>,
    options: PublishOptions = {},
  ): Promise<PublishedEvent> {
    const target = this.targetOf(binding);
    const form = serializeEvent(target, event);
    // The result of a synchronous serializer is not awaited, so that events keep the order in which
    // they were published.
    const record = outgoingRecord(target, form instanceof Promise ? await form : form, options);
    const startedAt = target.meter?.start() ?? 0;
    const trace = target.tracer?.send(target.topic, [record]);
    let result: EventResult;
    try {
      if (target.created) await target.created();
      const [written] = await target.producer().send(trace?.records ?? [record], {
        signal: options.signal,
        timeoutMs: options.timeoutMs,
      });
      result = publishedOrUnknown(target, written);
    } catch (error) {
      result = publishFailure(target, error);
    }
    target.meter?.ended(startedAt, [result]);
    trace?.end(result instanceof EventPublishException ? result : undefined);
    if (result instanceof EventPublishException) throw result;
    return result;
  }

  /**
   * Publishes many events with one call, in their order. Resolves with one result per event, in
   * order, when all in-sync replicas have them all. Otherwise rejects with EventsPublishException,
   * whose `results` say of each event whether it was written: an event that fails does not keep the
   * others from being written.
   */
  async publishAll<Name extends AnyBindingName>(
    binding: CheckedBindingRef<Name>,
    events: readonly EventToPublish<EventOf<Name>>[],
    { signal, timeoutMs }: Pick<PublishOptions, 'signal' | 'timeoutMs'> = {},
  ): Promise<readonly PublishedEvent[]> {
    return publishAll(this.targetOf(binding), events, { signal, timeoutMs });
  }
}
