export interface ExceptionOptions {
  readonly cause?: unknown;
}

/** Base class of all errors of the event bus: a stable `code`, whether another attempt can help, and a message that says what to do. */
export abstract class EventBusException extends Error {
  abstract readonly code: string;
  abstract readonly retriable: boolean;

  constructor(message: string, options: ExceptionOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
  }
}
