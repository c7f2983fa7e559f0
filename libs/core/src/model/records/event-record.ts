/** A header has one value, or several where the producer wrote its key more than once. */
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

/** A record as a handler sees it. `toJSON` leaves the payload out, so that no log contains it. */
export interface EventRecord<T = unknown> {
  readonly value: T;
  readonly key: string | null;
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly headers: EventHeaders;
  toJSON(): Readonly<Record<string, unknown>>;
}
