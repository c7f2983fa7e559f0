import { OutboxError } from './outbox-error.js';

/** A call had an argument that the outbox does not accept. */
export class IllegalArgumentError extends OutboxError {
  readonly code = 'ILLEGAL_ARGUMENT';
  readonly retriable = false;
}

/** A call was made at a time when it is not allowed, for example after `close()`. */
export class IllegalStateError extends OutboxError {
  readonly code = 'ILLEGAL_STATE';
  readonly retriable = false;
}
