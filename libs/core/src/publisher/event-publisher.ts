import {
  SendError,
  type OutgoingHeader,
  type ProducerSession,
  type WrittenRecord,
} from '@nest-event-bus/broker';
import { EventPublishException } from '../errors/publish-errors.js';
import type { BindingRef } from '../model/binding-ref.js';

/** Where the events of a binding go, and how their type is told. */
export interface PublishTarget {
  readonly binding: string;
  readonly topic: string;
  readonly typeFrom: string;
  readonly producer: ProducerSession;
}

export interface PublishOptions {
  /** Records with one key keep their order. Without a key the sender chooses the partition. */
  readonly key?: string | Buffer | null;
  /** What `@EventHandler(binding, { type })` is chosen by. */
  readonly type?: string;
  readonly headers?: Readonly<
    Record<string, string | Buffer | null | readonly (string | Buffer)[]>
  >;
  /** Milliseconds since 1970; default: now. */
  readonly timestamp?: number;
  /** Gives up what has not left yet. */
  readonly signal?: AbortSignal;
}

export interface PublishedEvent {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly timestamp: number;
}

/** Writes an event to the topic of a binding, in the form in which its handlers read it. */
export class EventPublisher {
  constructor(private readonly targetOf: (binding: BindingRef) => PublishTarget) {}

  /** Resolves once all in-sync replicas have the event. A Buffer goes out as it is, null as a tombstone, anything else as JSON. */
  async publish(
    binding: BindingRef,
    event: unknown,
    options: PublishOptions = {},
  ): Promise<PublishedEvent> {
    const target = this.targetOf(binding);
    const record = {
      topic: target.topic,
      key: options.key ?? null,
      value: encode(target.binding, event),
      headers: headersOf(target, options),
      timestamp: options.timestamp,
    };
    try {
      const [written] = await target.producer.send([record], { signal: options.signal });
      return published(target, written);
    } catch (error) {
      throw publishFailure(target, error);
    }
  }
}

function encode(binding: string, event: unknown): Buffer | string | null {
  if (event === null || Buffer.isBuffer(event)) return event;
  const text = toJson(binding, event);
  if (text === undefined) {
    throw new EventPublishException(
      `Cannot publish to binding '${binding}': ${typeof event} has no JSON form. Pass an object, a Buffer, or null for a tombstone.`,
    );
  }
  return text;
}

function toJson(binding: string, event: unknown): string | undefined {
  try {
    return JSON.stringify(event);
  } catch (cause) {
    throw new EventPublishException(
      `Cannot publish to binding '${binding}': the event cannot be written as JSON. Look for cycles and bigint values, or pass a Buffer.`,
      { cause },
    );
  }
}

function headersOf(
  { binding, typeFrom }: PublishTarget,
  options: PublishOptions,
): OutgoingHeader[] {
  const given = Object.entries(options.headers ?? {}).flatMap(([key, value]) =>
    Array.isArray(value)
      ? value.map((each: string | Buffer) => ({ key, value: each }))
      : [{ key, value: value as string | Buffer | null }],
  );
  if (options.type === undefined) return given;
  if (typeFrom.startsWith('$.')) {
    throw new EventPublishException(
      `Cannot publish to binding '${binding}' with a type: its types are read from the field ${typeFrom} of the value. Put the type there and leave the option out.`,
    );
  }
  return [...given.filter(({ key }) => key !== typeFrom), { key: typeFrom, value: options.type }];
}

function published({ binding }: PublishTarget, written: WrittenRecord | undefined): PublishedEvent {
  if (!written) {
    throw new EventPublishException(`The driver did not say where the event of '${binding}' is.`);
  }
  const { topic, partition, offset, timestamp } = written;
  return { topic, partition, offset: BigInt(offset), timestamp };
}

function publishFailure({ binding, topic }: PublishTarget, cause: unknown): EventPublishException {
  if (cause instanceof EventPublishException) return cause;
  const fate = cause instanceof SendError ? cause.outcomes[0]?.state : undefined;
  const consequence =
    fate === 'unknown'
      ? 'It is not known whether it was written: publishing it again may write it twice.'
      : 'It was not written.';
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new EventPublishException(
    `An event of binding '${binding}' could not be published to topic '${topic}'. ${consequence} ${reason}`,
    { cause },
  );
}
