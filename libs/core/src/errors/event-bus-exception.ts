import { markMessage, setCause } from '@nest-event-bus/broker';

export interface ExceptionOptions {
  readonly cause?: unknown;
}

/**
 * Base class of all errors of the event bus. Each has a stable `code`, says whether another attempt
 * can help, and has a message that says what to do. The message never quotes a payload, a secret or
 * the message of an error of somebody else; such an error is the `cause`.
 */
export abstract class EventBusException extends Error {
  abstract readonly code: string;
  abstract readonly retriable: boolean;

  constructor(message: string, options: ExceptionOptions = {}) {
    super(message);
    this.name = new.target.name;
    setCause(this, options.cause);
  }

  static {
    markMessage(this.prototype, 'own');
  }
}

/**
 * Base class of the exceptions that handlers throw. Their messages are written by the application,
 * so they are treated like those of any other error.
 */
export abstract class ApplicationException extends EventBusException {
  static {
    markMessage(this.prototype, 'foreign');
  }
}
