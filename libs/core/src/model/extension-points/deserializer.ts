import type { BrokerRecord } from '@nest-event-bus/broker';

/**
 * Makes a value of the bytes of a record. It is never asked about a tombstone. What it throws
 * becomes a DeserializationException: the message is bad, and trying again cannot help. Only an
 * EventBusException that says `retriable` is taken at its word: the record waits and is read again.
 */
export interface Deserializer {
  /** For messages: `JSON`. */
  readonly name: string;
  /** The value, or a promise of it. The bytes, and the record's, are copies: they may be kept, and written into. */
  deserialize(bytes: Buffer, record: BrokerRecord): unknown;
}
