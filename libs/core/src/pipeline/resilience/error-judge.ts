import type { DriverLogger } from '@nest-event-bus/broker';
import { guardedDistance } from '../../config/error-matching/guarded-distance.js';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { HandlerRefusedException } from '../../errors/handler-errors.js';
import { NonRetryableException, RetryableException } from '../../errors/retry-errors.js';
import { faultOf } from '../../failures/faults/fault-of.js';
import { isBadMessage, unwrapBatchError } from '../../failures/faults/bad-messages.js';
import { isOneOf } from '../../failures/faults/thrown.js';

/**
 * Tells what an error means for further calls:
 *
 * - `permanent`: the message is bad. There is one call, which the circuit breaker does not count.
 * - `refused`: a guard refused the record, so the handler was not called. This says nothing about
 *   the dependencies of the handler.
 * - `not-retried`: there is a list of retryable exceptions, and the error is not on it. There is
 *   one call, which the circuit breaker counts.
 * - `retryable`: all other errors.
 */
export type ErrorJudgement = 'permanent' | 'refused' | 'not-retried' | 'retryable';

export type ErrorJudge = (error: Error) => ErrorJudgement;

/**
 * Creates the function that decides whether a failed call may be repeated.
 *
 * 1. If both exception lists match, the closer match decides. So "retry nothing but timeouts"
 *    and "retry all but timeouts" are both possible. If both match equally, the call is not
 *    repeated.
 * 2. If neither list matches, the fault of the error decides. A bad message gets one call. Such
 *    a call says nothing about the dependencies of the handler, so the circuit breaker does not
 *    count it.
 *
 * An HTTP 401 is a fault of the message by default, so an expired token does not open the circuit.
 * To change that, set `retryableExceptions: [{ status: 401 }]`. The number of calls does not depend
 * on `exceptionRouting` and `skipToTierMapping`, which only decide where the record goes after the
 * last call.
 */
export function createErrorJudge(
  binding: Pick<ResolvedBinding, 'name' | 'retry' | 'dlt'>,
  logger: DriverLogger,
): ErrorJudge {
  const { retry } = binding;
  const distance = guardedDistance(binding, logger);
  const refused = [...retry.nonRetryableExceptions, NonRetryableException];
  const repeated = [...retry.retryableExceptions, RetryableException];
  return (thrown) => {
    const error = unwrapBatchError(thrown);
    if (isBadMessage(error)) return 'permanent';
    if (isOneOf(error, [HandlerRefusedException])) return 'refused';
    const against = distance(refused, error);
    const inFavour = distance(repeated, error);
    if (against !== undefined && (inFavour === undefined || against <= inFavour))
      return 'permanent';
    if (inFavour !== undefined) return 'retryable';
    if (faultOf(error) === 'message') return 'permanent';
    return retry.retryableExceptions.length === 0 ? 'retryable' : 'not-retried';
  };
}
