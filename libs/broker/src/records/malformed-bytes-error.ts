import { markMessage, setCause } from '../port/error-text.js';

export interface MalformedBytesOptions {
  readonly cause?: unknown;
  /** The offset at which reading can continue, if the header of the broken batch is valid. */
  readonly nextOffset?: number;
}

/**
 * Bytes that do not follow the format. Internal: a caller that knows topic, partition and offset
 * converts this error into an error of the port.
 */
export class MalformedBytesError extends Error {
  readonly nextOffset: number | undefined;

  constructor(message: string, options: MalformedBytesOptions = {}) {
    super(message);
    this.name = new.target.name;
    this.nextOffset = options.nextOffset;
    setCause(this, options.cause);
  }

  static {
    markMessage(this.prototype, 'own');
  }
}
