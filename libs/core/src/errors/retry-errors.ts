import { ApplicationException } from './event-bus-exception.js';

/**
 * A handler throws this error, or one that extends it, for a bad record. There is no further call,
 * and the record is dead-lettered.
 */
export class NonRetryableException extends ApplicationException {
  readonly code: string = 'NON_RETRYABLE';
  readonly retriable = false;
}

/**
 * A handler throws this error, or one that extends it, if another call may help, whatever its cause
 * is.
 */
export class RetryableException extends ApplicationException {
  readonly code: string = 'RETRYABLE';
  readonly retriable = true;
}

/** A handler got an argument that it can never work with. */
export class IllegalArgumentError extends NonRetryableException {
  override readonly code: string = 'ILLEGAL_ARGUMENT';
}
