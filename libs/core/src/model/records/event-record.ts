import type { RecordKey } from './record-key.js';

/** The value of a header; several values if the producer wrote the header more than once. */
export type HeaderValue = string | readonly string[] | undefined;

/** The headers of a record as text; the bytes are in `EventContext.raw`. */
export interface EventHeaders {
  /** The last value of the header, as text. */
  get(name: string): string | undefined;
  getAll(name: string): readonly string[];
  has(name: string): boolean;
  names(): readonly string[];
  toJSON(): Readonly<Record<string, string | readonly string[]>>;
}

/**
 * A record as a handler sees it. `toJSON` omits the payload, so that no log contains it. `K` is the
 * type that the `keyDeserializer` of the binding gives.
 */
export interface EventRecord<T = unknown, K = RecordKey> {
  readonly value: T;
  /** The key; null if the record has none. With `keyDeserializer: 'auto'` it is text or a Buffer. */
  readonly key: K;
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly headers: EventHeaders;
  toJSON(): Readonly<Record<string, unknown>>;
}
