import {
  errorSentenceOf,
  type ProducerSession,
  SendError,
  type WrittenRecord,
} from '@nest-event-bus/broker';
import { EventPublishException } from '../errors/publish-errors.js';
import type { BindingRef } from '../model/states/binding-ref.js';
import type {
  AnyBindingName,
  CheckedBindingRef,
  EventOf,
} from '../model/states/event-bus-bindings.js';
import type { Serializer } from '../model/extension-points/serializer.js';
import { outgoingRecord } from './outgoing-record.js';
import { createPublishedEvent, type PublishedEvent } from './published-event.js';
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
    try {
      if (target.created) await target.created();
      const [written] = await target.producer().send([record], { signal: options.signal });
      return published(target, written);
    } catch (error) {
      throw publishFailure(target, error);
    }
  }
}

function published({ binding }: PublishTarget, written: WrittenRecord | undefined): PublishedEvent {
  if (!written) {
    throw new EventPublishException(
      `The driver reported no partition and offset for the event of binding '${binding}', so it is not known whether it was written. Publishing it again may write it twice.`,
      {
        fate: 'unknown',
      },
    );
  }
  return createPublishedEvent(written);
}

function publishFailure({ binding, topic }: PublishTarget, cause: unknown): EventPublishException {
  if (cause instanceof EventPublishException) return cause;
  const isUnknown = cause instanceof SendError && cause.outcomes[0]?.state === 'unknown';
  const consequence = isUnknown
    ? 'It is not known whether it was written: publishing it again may write it twice.'
    : 'It was not written.';
  return new EventPublishException(
    `An event of binding '${binding}' could not be published to topic '${topic}'. ${consequence} ${errorSentenceOf(cause)}`,
    { cause, fate: isUnknown ? 'unknown' : 'not-written' },
  );
}
