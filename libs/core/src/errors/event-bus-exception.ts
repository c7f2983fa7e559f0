export interface ExceptionOptions {
  readonly cause?: unknown;
}

/**
 * Base class of all errors of the event bus. Each has a stable `code`, says whether another attempt
 * can help, and has a message that says what to do.
 */
export abstract class EventBusException extends Error {
  abstract readonly code: string;
  abstract readonly retriable: boolean;

  constructor(message: string, options: ExceptionOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
  }
}
