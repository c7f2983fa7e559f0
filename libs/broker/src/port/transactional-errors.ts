import { InvalidOptionError, RefusedError } from './errors.js';

/**
 * A plain send would be committed although the transaction is not: more likely a mistake than
 * intended.
 */
export function transactionsOnlyError(): RefusedError {
  return new RefusedError(
    'This producer has a transactionalId and writes in transactions only: send with `await producer.transaction()`, or with a producer without that option.',
    false,
  );
}

export function missingTransactionalIdError(): InvalidOptionError {
  return new InvalidOptionError(
    'This producer has no transactionalId, which transactions require: pass one to driver.producer().',
  );
}

export function transactionOpenError(transactionalId: string): RefusedError {
  return new RefusedError(
    `A transaction of "${transactionalId}" is open: commit or abort it first, or use another producer with an id of its own.`,
    false,
  );
}
