import {
  AuthenticationError,
  BrokerError,
  ClosedError,
  StaticMemberFencedError,
} from '../../port/errors.js';

/**
 * When a failed attempt is retried.
 *  - at-once: the response says how to continue; only repeated retries are delayed
 *  - soon: the error resolves itself, so the retry follows after a short backoff
 *  - slowly: a person has to remove the cause
 *  - never: a retry could do harm
 */
export type RetryUrgency = 'at-once' | 'soon' | 'slowly' | 'never';

export function retryUrgencyAfter(error: unknown): RetryUrgency {
  // Wrong credentials that are sent repeatedly lock the account. A fenced static member that joins
  // again would fence the member that replaced it.
  if (error instanceof AuthenticationError || error instanceof StaticMemberFencedError)
    return 'never';
  // The connection was closed during the request. If the whole driver was closed, the session is
  // closed next.
  if (error instanceof ClosedError) return 'soon';
  return error instanceof BrokerError && error.retriable ? 'soon' : 'slowly';
}
