import { OutboxError } from './outbox-error.js';

/** An event was written outside a transaction. Nothing was inserted. */
export class TransactionRequiredError extends OutboxError {
  readonly code = 'OUTBOX_TRANSACTION_REQUIRED';
  readonly retriable = false;

  constructor(handle = 'The current context') {
    super(
      `${handle} is not in a transaction, so the event was not written. Begin a transaction, change the data and write the event in it.`,
    );
  }
}
