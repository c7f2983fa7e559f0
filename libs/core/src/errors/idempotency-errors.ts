import { EventBusException } from './event-bus-exception.js';

/** The idempotency store did not answer. The handler was not called, or it has succeeded; in both cases the record is delivered again. */
export class IdempotencyStoreException extends EventBusException {
  readonly code = 'IDEMPOTENCY_STORE';
  readonly retriable = true;
}

/** The record has no key that identifies a second delivery. Trying again cannot help. */
export class IdempotencyKeyException extends EventBusException {
  readonly code = 'IDEMPOTENCY_KEY';
  readonly retriable = false;
}
