import { EventBusException } from './event-bus-exception.js';

/** An event could not be published, or it is not known whether it was. */
export class EventPublishException extends EventBusException {
  readonly code = 'EVENT_PUBLISH';
  readonly retriable = true;
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
