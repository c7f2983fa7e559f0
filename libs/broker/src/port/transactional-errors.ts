import { InvalidOptionError, RefusedError } from './errors.js';

/** A record beside the transactions would count while they do not: more likely a mistake than a wish. */
export function transactionsOnlyError(): RefusedError {
  return new RefusedError(
    'This producer has a transactionalId and writes in transactions only: send with `await producer.transaction()`, or with a producer without that option.',
    false,
  );
}

export function missingTransactionalIdError(): InvalidOptionError {
  return new InvalidOptionError(
    'This producer has no transactionalId, by which a cluster knows whose transaction it is: give one to driver.producer().',
  );
}

export function transactionOpenError(transactionalId: string): RefusedError {
  return new RefusedError(
    `A transaction of "${transactionalId}" is open: commit or abort it first, or use another producer with an id of its own.`,
    false,
  );
}
