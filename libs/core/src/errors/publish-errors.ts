import { EventBusException, type ExceptionOptions } from './event-bus-exception.js';

/** `unknown`: it has left, and no answer told what became of it. */
export type PublishFate = 'not-written' | 'unknown';

interface PublishFailure extends ExceptionOptions {
  /** Default `'not-written'`. */
  readonly fate?: PublishFate;
}

/** An event could not be published, or it is not known whether it was. */
export class EventPublishException extends EventBusException {
  readonly code = 'EVENT_PUBLISH';
  /** While it is `unknown`, publishing the event again may write it twice. */
  readonly fate: PublishFate;
  /** Whether publishing it again may succeed: as its cause says, false where that says nothing. */
  readonly retriable: boolean;

  constructor(message: string, { fate = 'not-written', ...options }: PublishFailure = {}) {
    super(message, options);
    this.fate = fate;
    this.retriable = isRetriable(options.cause);
  }
}

/** A dead letter could not be written: its record stays where it is. */
export class DltPublishException extends EventBusException {
  readonly code = 'DLT_PUBLISH';
  readonly retriable = true;
}

/** A record could not be written to its retry topic: it stays where it is. */
export class RetryPublishException extends EventBusException {
  readonly code = 'RETRY_PUBLISH';
  readonly retriable = true;
}

/** Errors of the bus and of its drivers know. */
function isRetriable(cause: unknown): boolean {
  return cause instanceof Error && 'retriable' in cause && cause.retriable === true;
}
