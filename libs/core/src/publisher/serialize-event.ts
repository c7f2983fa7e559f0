import { asError } from '../errors/as-error.js';
import { EventPublishException } from '../errors/publish-errors.js';
import type { SerializedEvent, Serializer } from '../model/extension-points/serializer.js';

/** What of an event is written: its bytes, and what its readers need besides. */
export interface SerializedForm {
  readonly value: Buffer | string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface FormTarget {
  readonly binding: string;
  readonly topic: string;
  readonly serializer: Serializer;
}

/** A promise only where the serializer gives one. */
export function serializeEvent(
  target: FormTarget,
  event: unknown,
): SerializedForm | Promise<SerializedForm> {
  if (event === null || Buffer.isBuffer(event)) return { value: event };
  try {
    const serialized = target.serializer.serialize(event, { topic: target.topic });
    return isLater(serialized) ? serializeAsync(target, serialized) : formOf(target, serialized);
  } catch (cause) {
    throw unserializable(target, cause);
  }
}

async function serializeAsync(
  target: FormTarget,
  serialized: PromiseLike<SerializedEvent>,
): Promise<SerializedForm> {
  try {
    return formOf(target, await serialized);
  } catch (cause) {
    throw unserializable(target, cause);
  }
}

/** A serializer of the application may give anything. */
function isLater(
  serialized: SerializedEvent | PromiseLike<SerializedEvent> | undefined,
): serialized is PromiseLike<SerializedEvent> {
  return typeof serialized === 'object' && serialized !== null && 'then' in serialized;
}

function formOf({ serializer }: FormTarget, serialized: SerializedEvent): SerializedForm {
  if (typeof serialized !== 'object' || serialized === null) {
    throw new TypeError(
      `the serializer '${serializer.name}' gave ${serialized === null ? 'null' : typeof serialized}. It must give an object with the value, { value }.`,
    );
  }
  const { value, headers } = serialized;
  if (typeof value === 'string' || Buffer.isBuffer(value)) return { value, headers };
  throw new TypeError(
    `the serializer '${serializer.name}' gave ${typeof value} for its value. It must give a Buffer or a string.`,
  );
}

function unserializable({ binding }: FormTarget, cause: unknown): EventPublishException {
  return new EventPublishException(
    `Cannot publish to binding '${binding}': ${asError(cause).message}`,
    { cause },
  );
}
