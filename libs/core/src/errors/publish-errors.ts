import { EventBusException, type ExceptionOptions } from './event-bus-exception.js';

/**
 * Says whether an event was written. `unknown`: it was sent, but no answer of the broker arrived.
 */
export type PublishFate = 'not-written' | 'unknown';

interface PublishFailure extends ExceptionOptions {
  /** Default `'not-written'`. */
  readonly fate?: PublishFate;
}

/** An event was not published, or it is unknown whether it was. */
export class EventPublishException extends EventBusException {
  readonly code = 'EVENT_PUBLISH';
  /** Publishing the event again may write it twice if this is `unknown`. */
  readonly fate: PublishFate;
  /**
   * True if publishing the event again may succeed. The value is that of the cause; false if the
   * cause has none.
   */
  readonly retriable: boolean;

  constructor(message: string, { fate = 'not-written', ...options }: PublishFailure = {}) {
    super(message, options);
    this.fate = fate;
    this.retriable = isRetriable(options.cause);
  }
}

/** A dead letter could not be written. Its record is delivered again, and the write is repeated. */
export class DltPublishException extends EventBusException {
  readonly code = 'DLT_PUBLISH';
  readonly retriable = true;
}

/**
 * A record could not be written to its retry topic. It is delivered again, and the write is
 * repeated.
 */
export class RetryPublishException extends EventBusException {
  readonly code = 'RETRY_PUBLISH';
  readonly retriable = true;
}

/** Reads `retriable` of the errors of the bus and of its drivers. */
function isRetriable(cause: unknown): boolean {
  return cause instanceof Error && 'retriable' in cause && cause.retriable === true;
}
