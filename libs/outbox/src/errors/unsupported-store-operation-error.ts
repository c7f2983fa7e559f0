import { OutboxError } from './outbox-error.js';

/** The store does not have an optional operation. */
export class UnsupportedStoreOperationError extends OutboxError {
  readonly code = 'OUTBOX_STORE_OPERATION_UNSUPPORTED';
  readonly retriable = false;

  constructor(store: string, operation: string) {
    super(`The store ${store} has no ${operation}(). Implement it, or use a store that has it.`);
  }
}
