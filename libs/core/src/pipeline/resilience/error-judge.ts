import type { DriverLogger } from '@nest-event-bus/broker';
import { guardedDistance } from '../../config/error-matching/guarded-distance.js';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { HandlerRefusedException } from '../../errors/handler-errors.js';
import { NonRetryableException, RetryableException } from '../../errors/retry-errors.js';
import { faultOf } from '../../failures/faults/fault-of.js';
import { isBadMessage, unwrapBatchError } from '../../failures/faults/bad-messages.js';
import { isOneOf } from '../../failures/faults/thrown.js';

/**
 * - `permanent`: the message is bad. One call, and the circuit does not hear of it.
 * - `refused`: a guard said no, so the handler was not called. Nothing is known of what it needs.
 * - `not-retried`: there is a whitelist, and it is not on it. One call, which the circuit counts.
 * - `retryable`: all others.
 */
export type ErrorJudgement = 'permanent' | 'refused' | 'not-retried' | 'retryable';

export type ErrorJudge = (error: Error) => ErrorJudgement;

/**
 * Of the two lists the closer match decides: "retry nothing but timeouts" and "all but timeouts"
 * can both be said. Where both match equally the call is not repeated.
 *
 * Where neither list says anything, what is known of errors does: of a bad message, one call is
 * enough. Such a call says nothing about what the handler needs, so the circuit does not count it.
 * A token that has expired therefore opens no circuit, since an HTTP 401 is the message's fault by
 * default: who wants that says `retryableExceptions: [{ status: 401 }]`.
 *
 * Where a record goes after its calls is said elsewhere: `exceptionRouting` and
 * `skipToTierMapping` change nothing about how often its handler is called.
 */
export function createErrorJudge(
  { name, retry }: Pick<ResolvedBinding, 'name' | 'retry'>,
  logger: DriverLogger,
): ErrorJudge {
  const distance = guardedDistance(name, logger);
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
