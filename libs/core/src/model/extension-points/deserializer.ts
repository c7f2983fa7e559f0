import type { BrokerRecord } from '@nest-event-bus/broker';

/**
 * Turns the bytes of a record into a value. It is not called for a tombstone. An error becomes a
 * DeserializationException: the message is bad, and trying again cannot help. Only after an
 * EventBusException with `retriable` the record waits and is read again.
 */
export interface Deserializer {
  /** Appears in messages: `JSON`. */
  readonly name: string;
  /** Returns the value, or a promise of it. The bytes are copies: an implementation may keep them and write into them. */
  deserialize(bytes: Buffer, record: BrokerRecord): unknown;
}
