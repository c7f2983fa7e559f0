import { EventBusException, type ExceptionOptions } from './event-bus-exception.js';

/**
 * The records of a handler's transaction were not written, and the handled record is not committed.
 */
export class TransactionException extends EventBusException {
  readonly code = 'TRANSACTION';

  constructor(
    message: string,
    readonly retriable: boolean,
    options: ExceptionOptions = {},
  ) {
    super(message, options);
  }
}
