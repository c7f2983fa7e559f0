import { ownError } from '@nest-event-bus/broker';
import { isUtf8 } from 'node:buffer';
import type { Deserializer } from '../../model/extension-points/deserializer.js';
import { keyText } from '../../model/records/record-key.js';
import type { SerializedEvent, Serializer } from '../../model/extension-points/serializer.js';
import { UnreadableValueError } from './unreadable-value-error.js';

/**
 * Returns the text of the bytes, and refuses bytes that are not UTF-8. Decoders of Node would
 * replace them without an error, and the handler would get a value that was never sent.
 */
function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new UnreadableValueError('its bytes are not UTF-8');
  return bytes.toString('utf8');
}

export const jsonDeserializer: Deserializer = Object.freeze({
  name: 'JSON',
  deserialize: (bytes: Buffer): unknown => {
    const text = textOf(bytes);
    try {
      return JSON.parse(text) as unknown;
    } catch {
      // The error of the parser is dropped, because its message quotes the payload.
      throw new UnreadableValueError('the parser refused it');
    }
  },
});

export const jsonSerializer: Serializer = Object.freeze({
  name: 'JSON',
  serialize: (event: unknown): SerializedEvent => ({ value: jsonOf(event) }),
});

export function jsonOf(event: unknown): string {
  const text = stringify(event);
  if (text !== undefined) return text;
  throw ownError(
    new TypeError(
      `${typeof event} has no JSON form. Pass an object, a Buffer, or null for a tombstone.`,
    ),
  );
}

function stringify(event: unknown): string | undefined {
  try {
    return JSON.stringify(event);
  } catch (cause) {
    throw ownError(
      new TypeError(
        'the event cannot be written as JSON. Look for cycles and bigint values, or pass a Buffer.',
      ),
      cause,
    );
  }
}

export const textDeserializer: Deserializer = Object.freeze({
  name: 'text',
  deserialize: textOf,
});

export const textSerializer: Serializer = Object.freeze({
  name: 'text',
  serialize: (event: unknown): SerializedEvent => {
    if (typeof event === 'string') return { value: event };
    throw ownError(
      new TypeError(`its values are text, and ${typeof event} is none. Pass a string.`),
    );
  },
});

/** Refuses keys that `'auto'` would give as a Buffer. */
export const textKeyDeserializer: Deserializer = Object.freeze({
  name: 'text',
  deserialize: (bytes: Buffer): string => {
    const text = keyText(bytes);
    if (text !== undefined) return text;
    throw new UnreadableValueError('its bytes are not UTF-8, or they hold control characters');
  },
});

/** Returns a copy, so that a handler that writes into it does not change the record. */
export const rawDeserializer: Deserializer = Object.freeze({
  name: 'raw',
  deserialize: (bytes: Buffer): Buffer => Buffer.from(bytes),
});

/**
 * Refuses every event. Used for raw bytes and for formats that can only be read. The publisher
 * sends a Buffer without a serializer.
 */
export function buffersOnly(name: string): Serializer {
  return Object.freeze({
    name,
    serialize: (): never => {
      throw ownError(
        new TypeError(
          `its values are ${name}, and nothing writes that. Pass a Buffer, or give the binding a serializer.`,
        ),
      );
    },
  });
}
