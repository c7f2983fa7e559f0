import { errorReasonOf, hasOwnMessage, ownError } from '@nest-event-bus/broker';
import { EventPublishException } from '../errors/publish-errors.js';
import type { SerializedEvent, Serializer } from '../model/extension-points/serializer.js';

/** The serialized value of an event, and the headers that its readers need. */
export interface SerializedForm {
  readonly value: Buffer | string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface SerializationTarget {
  readonly binding: string;
  readonly topic: string;
  readonly serializer: Serializer;
}

/**
 * Serializes an event. Returns a promise only if the serializer does, so that a synchronous one
 * keeps the order of events.
 */
export function serializeEvent(
  target: SerializationTarget,
  event: unknown,
): SerializedForm | Promise<SerializedForm> {
  if (event === null || Buffer.isBuffer(event)) return { value: event };
  try {
    const serialized = target.serializer.serialize(event, { topic: target.topic });
    return isThenable(serialized) ? serializeAsync(target, serialized) : formOf(target, serialized);
  } catch (cause) {
    throw unserializable(target, cause);
  }
}

async function serializeAsync(
  target: SerializationTarget,
  serialized: PromiseLike<SerializedEvent>,
): Promise<SerializedForm> {
  try {
    return formOf(target, await serialized);
  } catch (cause) {
    throw unserializable(target, cause);
  }
}

/** Returns whether the value is a thenable. A serializer of the application may return anything. */
function isThenable(
  serialized: SerializedEvent | PromiseLike<SerializedEvent> | undefined,
): serialized is PromiseLike<SerializedEvent> {
  return typeof serialized === 'object' && serialized !== null && 'then' in serialized;
}

function formOf({ serializer }: SerializationTarget, serialized: SerializedEvent): SerializedForm {
  if (typeof serialized !== 'object' || serialized === null) {
    throw ownTypeError(
      `the serializer '${serializer.name}' returned ${serialized === null ? 'null' : typeof serialized}. It must return an object with the value, { value }.`,
    );
  }
  const { value, headers } = serialized;
  if (typeof value === 'string' || Buffer.isBuffer(value)) return { value, headers };
  throw ownTypeError(
    `the serializer '${serializer.name}' returned ${typeof value} as its value. It must return a Buffer or a string.`,
  );
}

const ownTypeError = (message: string): TypeError => ownError(new TypeError(message));

/** A serializer of the application may quote the event in its message, which is left out. */
function unserializable(
  { binding, serializer }: SerializationTarget,
  cause: unknown,
): EventPublishException {
  const reason = hasOwnMessage(cause)
    ? cause.message
    : `the serializer '${serializer.name}' failed with ${errorReasonOf(cause)}. Look at the cause of this exception.`;
  return new EventPublishException(`Cannot publish to binding '${binding}': ${reason}`, { cause });
}
