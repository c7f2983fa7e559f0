import type { DriverLogger } from '@nest-event-bus/broker';
import { closestDistance } from '../../config/error-distance.js';
import type { ErrorMatcher } from '../../config/error-matcher.js';
import type { ResolvedBinding } from '../../config/resolved-binding.js';
import {
  BatchProcessingException,
  DeserializationException,
  HandlerRefusedException,
  PayloadValidationException,
  UnknownEventTypeException,
} from '../../errors/handler-errors.js';

/**
 * - `permanent`: the message is bad. One call, and the circuit does not hear of it.
 * - `refused`: a guard said no, so the handler was not called. Nothing is known of what it needs.
 * - `not-retried`: there is a whitelist, and it is not on it. One call, which the circuit counts.
 * - `retryable`: all others.
 */
export type ErrorJudgement = 'permanent' | 'refused' | 'not-retried' | 'retryable';

export type ErrorJudge = (error: Error) => ErrorJudgement;

const BAD_MESSAGE = [
  DeserializationException,
  PayloadValidationException,
  UnknownEventTypeException,
] as const;

/**
 * Of the two lists the closer match decides: "retry nothing but timeouts" and "all but timeouts"
 * can both be said. Where both match equally the call is not repeated.
 */
export function errorJudge(
  { name, retry }: Pick<ResolvedBinding, 'name' | 'retry'>,
  logger: DriverLogger,
): ErrorJudge {
  const { retryableExceptions, nonRetryableExceptions } = retry;
  const closest = (matchers: readonly ErrorMatcher[], error: Error): number | undefined => {
    try {
      return closestDistance(matchers, error);
    } catch (failure) {
      logger.error('A function of retryableExceptions or nonRetryableExceptions threw', {
        binding: name,
        error: String(failure),
      });
      return undefined;
    }
  };
  return (thrown) => {
    const error = meantError(thrown);
    if (BAD_MESSAGE.some((kind) => error instanceof kind)) return 'permanent';
    if (error instanceof HandlerRefusedException) return 'refused';
    const against = closest(nonRetryableExceptions, error);
    const inFavour = closest(retryableExceptions, error);
    if (against !== undefined && (inFavour === undefined || against <= inFavour))
      return 'permanent';
    if (retryableExceptions.length === 0 || inFavour !== undefined) return 'retryable';
    return 'not-retried';
  };
}

/** What a handler of batches wraps to say where it stopped is no error of its own. */
function meantError(error: Error): Error {
  return error instanceof BatchProcessingException && error.cause instanceof Error
    ? error.cause
    : error;
}
