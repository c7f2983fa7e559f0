import { EventBusException } from './event-bus-exception.js';

/** The idempotency store did not answer. The record's handler was not called, or has succeeded; either way the record comes again. */
export class IdempotencyStoreException extends EventBusException {
  readonly code = 'IDEMPOTENCY_STORE';
  readonly retriable = true;
}

/** The record has no key by which a second delivery could be told. Trying again cannot help. */
export class IdempotencyKeyException extends EventBusException {
  readonly code = 'IDEMPOTENCY_KEY';
  readonly retriable = false;
}
