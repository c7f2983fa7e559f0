import {
  AuthenticationError,
  BrokerError,
  ClosedError,
  StaticMemberFencedError,
} from '../../port/errors.js';

/**
 * Urgency of a retry.
 *  - at-once: the response said how to continue; only an endless chain is slowed down
 *  - soon: the error resolves itself, after a short backoff
 *  - slowly: somebody has to fix the cause
 *  - never: a retry could do harm
 */
export type RetryUrgency = 'at-once' | 'soon' | 'slowly' | 'never';

export function retryUrgencyAfter(error: unknown): RetryUrgency {
  // Repeated attempts with wrong credentials lock accounts, and a fenced static member would fence
  // its own successor.
  if (error instanceof AuthenticationError || error instanceof StaticMemberFencedError)
    return 'never';
  // The connection was closed during the request. If the whole driver was closed, the session
  // closes next.
  if (error instanceof ClosedError) return 'soon';
  return error instanceof BrokerError && error.retriable ? 'soon' : 'slowly';
}
