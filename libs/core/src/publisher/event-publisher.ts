import { SendError, type ProducerSession, type WrittenRecord } from '@nest-event-bus/broker';
import { asError } from '../errors/as-error.js';
import { EventPublishException } from '../errors/publish-errors.js';
import type { BindingRef } from '../model/states/binding-ref.js';
import type { Serializer } from '../model/extension-points/serializer.js';
import { headersOf } from './event-headers.js';
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
}

export interface PublishOptions {
  /**
   * Key of the record. Records with the same key keep their order. Without a key the producer
   * chooses the partition.
   */
  readonly key?: string | Buffer | null;
  /** Event type, by which `@EventHandler(binding, { type })` is chosen. */
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

export interface PublishedEvent {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly timestamp: number;
}

/** Writes an event to the topic of a binding, in the format that its handlers read. */
export class EventPublisher {
  constructor(private readonly targetOf: (binding: BindingRef) => PublishTarget) {}

  /**
   * Resolves when all in-sync replicas have the event. A Buffer is written as it is, null as a
   * tombstone, anything else in the format of the binding.
   */
  async publish(
    binding: BindingRef,
    event: unknown,
    options: PublishOptions = {},
  ): Promise<PublishedEvent> {
    const target = this.targetOf(binding);
    const form = serializeEvent(target, event);
    // A synchronous serializer is not awaited, so that events keep the order in which they were published.
    const { value, headers } = form instanceof Promise ? await form : form;
    const record = {
      topic: target.topic,
      key: options.key ?? null,
      value,
      headers: headersOf(target, options, headers),
      timestamp: options.timestamp,
    };
    try {
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
      `The driver reported no partition and offset for the event of binding '${binding}'.`,
      {
        fate: 'unknown',
      },
    );
  }
  const { topic, partition, offset, timestamp } = written;
  return { topic, partition, offset: BigInt(offset), timestamp };
}

function publishFailure({ binding, topic }: PublishTarget, cause: unknown): EventPublishException {
  if (cause instanceof EventPublishException) return cause;
  const isUnknown = cause instanceof SendError && cause.outcomes[0]?.state === 'unknown';
  const consequence = isUnknown
    ? 'It is not known whether it was written: publishing it again may write it twice.'
    : 'It was not written.';
  return new EventPublishException(
    `An event of binding '${binding}' could not be published to topic '${topic}'. ${consequence} ${asError(cause).message}`,
    { cause, fate: isUnknown ? 'unknown' : 'not-written' },
  );
}
