import { EventBusException, type ExceptionOptions } from './event-bus-exception.js';

/** `unknown`: the event was sent, and no answer says whether it was written. */
export type PublishFate = 'not-written' | 'unknown';

interface PublishFailure extends ExceptionOptions {
  /** Default `'not-written'`. */
  readonly fate?: PublishFate;
}

/** An event could not be published, or it is not known whether it was. */
export class EventPublishException extends EventBusException {
  readonly code = 'EVENT_PUBLISH';
  /** Publishing the event again may write it twice if this is `unknown`. */
  readonly fate: PublishFate;
  /** Tells whether publishing the event again may succeed. Taken from the cause; false if the cause does not say. */
  readonly retriable: boolean;

  constructor(message: string, { fate = 'not-written', ...options }: PublishFailure = {}) {
    super(message, options);
    this.fate = fate;
    this.retriable = isRetriable(options.cause);
  }
}

/** A dead letter could not be written: its record stays in its place. */
export class DltPublishException extends EventBusException {
  readonly code = 'DLT_PUBLISH';
  readonly retriable = true;
}

/** A record could not be written to its retry topic: it stays in its place. */
export class RetryPublishException extends EventBusException {
  readonly code = 'RETRY_PUBLISH';
  readonly retriable = true;
}

/** Reads `retriable` of the errors of the bus and of its drivers. */
function isRetriable(cause: unknown): boolean {
  return cause instanceof Error && 'retriable' in cause && cause.retriable === true;
}
