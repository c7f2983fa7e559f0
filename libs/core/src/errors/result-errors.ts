import {
  isConsumerResult,
  type ErrorResult,
  type RetryableResult,
} from '../model/outcomes/consumer-result.js';
import { NonRetryableException, RetryableException } from './retry-errors.js';

/** A handler returned a RetryableResult; the message is its reason. */
export class RetryableResultException extends RetryableException {
  override readonly code: string = 'RETRYABLE_RESULT';
}

/** A handler returned an ErrorResult; the message is its reason. */
export class ErrorResultException extends NonRetryableException {
  override readonly code: string = 'ERROR_RESULT';
}

/**
 * Throws a failure that a handler only returned, so that both ways to fail are handled alike: the
 * same retries, the same circuit, the same headers.
 */
export function throwIfFailed(result: unknown): void {
  if (result === undefined || !isConsumerResult(result)) return;
  switch (result.kind) {
    case 'success':
      return;
    case 'retryable':
      throw new RetryableResultException(reasonOf(result), { cause: result.cause });
    case 'error':
      throw new ErrorResultException(reasonOf(result), { cause: result.cause });
  }
}

/** Replaces a missing reason, which JavaScript allows. */
function reasonOf({ reason, kind }: RetryableResult | ErrorResult): string {
  return typeof reason === 'string' && reason !== ''
    ? reason
    : `The handler returned a result of kind '${kind}' without a reason.`;
}
