import type { BrokerRecord } from '@nest-event-bus/broker';
import { isUtf8 } from 'node:buffer';

/**
 * Makes a value of the bytes of a record. It is never asked about a tombstone. What it throws
 * becomes a DeserializationException.
 */
export interface Deserializer {
  /** For messages: `JSON`. */
  readonly name: string;
  deserialize(bytes: Buffer, record: BrokerRecord): unknown;
}

/** What Node's own decoders would replace in silence is refused: a handler gets what was sent, or nothing. */
function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new RangeError('its bytes are not UTF-8');
  return bytes.toString('utf8');
}

export const jsonDeserializer: Deserializer = Object.freeze({
  name: 'JSON',
  deserialize: (bytes: Buffer): unknown => parse(textOf(bytes)),
});

/** The parser quotes the text in its message, and that is the payload. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new SyntaxError('the parser refused it');
  }
}

export const textDeserializer: Deserializer = Object.freeze({
  name: 'text',
  deserialize: textOf,
});

/** A copy: the handler may write into it, and the record stays what it was. */
export const rawDeserializer: Deserializer = Object.freeze({
  name: 'raw',
  deserialize: (bytes: Buffer): Buffer => Buffer.from(bytes),
});
