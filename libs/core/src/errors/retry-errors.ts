import { EventBusException } from './event-bus-exception.js';

/** A handler throws this, or an error that extends it, when the record is bad: one call, and dead-lettered. */
export class NonRetryableException extends EventBusException {
  readonly code: string = 'NON_RETRYABLE';
  readonly retriable = false;
}

/** A handler throws this, or an error that extends it, when another call may help, whatever its cause is. */
export class RetryableException extends EventBusException {
  readonly code: string = 'RETRYABLE';
  readonly retriable = true;
}

/** A handler got an argument that it can never work with. */
export class IllegalArgumentError extends NonRetryableException {
  override readonly code: string = 'ILLEGAL_ARGUMENT';
}
