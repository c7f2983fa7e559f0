/** An event in its serialized form. */
export interface SerializedEvent {
  readonly value: Buffer | string;
  /**
   * Headers for the readers of the event. A header that the caller passes replaces the one with the
   * same name.
   */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Turns an event into bytes. Not called for a Buffer or a tombstone, which are written unchanged.
 */
export interface Serializer {
  /** Name in messages: `JSON`. */
  readonly name: string;
  /**
   * Returns the serialized event. Throws an error that says why the event cannot be written,
   * without quoting the event.
   */
  serialize(
    event: unknown,
    target: { readonly topic: string },
  ): SerializedEvent | PromiseLike<SerializedEvent>;
}
