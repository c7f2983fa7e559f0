/** An event as it is written. */
export interface SerializedEvent {
  readonly value: Buffer | string;
  /** Headers for the readers of the event. A header of the same name from the caller wins. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Turns an event into bytes. It is not called for a Buffer or a tombstone: both are written as they are. */
export interface Serializer {
  /** Appears in messages: `JSON`. */
  readonly name: string;
  /** Throws an error that says why the event cannot be written, without quoting the event. */
  serialize(
    event: unknown,
    target: { readonly topic: string },
  ): SerializedEvent | PromiseLike<SerializedEvent>;
}
