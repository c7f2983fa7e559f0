import { EventBusException, type ExceptionOptions } from './event-bus-exception.js';

/** What a handler sent in its transaction was not written, and its record is not committed. */
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
