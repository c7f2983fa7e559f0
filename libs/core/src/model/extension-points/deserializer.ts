import type { BrokerRecord } from '@nest-event-bus/broker';

/**
 * Turns the bytes of a value or of a key into an object. Not called for null. An error becomes a
 * DeserializationException: the message is bad, and another attempt cannot help. If an
 * EventBusException with `retriable` is thrown, the record waits and is read again.
 */
export interface Deserializer {
  /** Name in messages: `JSON`. */
  readonly name: string;
  /**
   * Returns the value, or a promise of it. The bytes are copies: an implementation may keep them
   * and write into them.
   */
  deserialize(bytes: Buffer, record: BrokerRecord): unknown;
}
