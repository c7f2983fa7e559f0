export interface MalformedBytesOptions {
  readonly cause?: unknown;
  /** Where reading could go on, when the broken batch's own header can still be believed. */
  readonly nextOffset?: number;
}

/**
 * Bytes that do not follow the format. Internal: whoever knows topic, partition and offset turns
 * it into an error of the port before it reaches a user.
 */
export class MalformedBytesError extends Error {
  readonly nextOffset: number | undefined;

  constructor(message: string, options: MalformedBytesOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.nextOffset = options.nextOffset;
  }
}
