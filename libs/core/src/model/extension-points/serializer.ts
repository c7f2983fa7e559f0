/** An event as it is written. */
export interface SerializedEvent {
  readonly value: Buffer | string;
  /** What its readers need besides. A header of the same name that the caller gives wins. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Makes the bytes of an event. It is never asked about a Buffer or a tombstone: those go out as they are. */
export interface Serializer {
  /** For messages: `JSON`. */
  readonly name: string;
  /** What it throws says why the event cannot be written, without the event itself. */
  serialize(
    event: unknown,
    target: { readonly topic: string },
  ): SerializedEvent | PromiseLike<SerializedEvent>;
}
