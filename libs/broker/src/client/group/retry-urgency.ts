import {
  AuthenticationError,
  BrokerError,
  ClosedError,
  StaticMemberFencedError,
} from '../../port/errors.js';

/**
 * How soon to try again.
 *  - at-once: the answer said how; only an endless chain of these is slowed down
 *  - soon: it mends itself, with a short back-off
 *  - slowly: somebody has to do something about it
 *  - never: trying again can do harm
 */
export type RetryUrgency = 'at-once' | 'soon' | 'slowly' | 'never';

export function retryUrgencyAfter(error: unknown): RetryUrgency {
  // Wrong credentials, tried again and again, lock accounts; a static member would fence its own successor.
  if (error instanceof AuthenticationError || error instanceof StaticMemberFencedError)
    return 'never';
  // A connection that was closed under us; if the whole driver was, the session is closed next.
  if (error instanceof ClosedError) return 'soon';
  return error instanceof BrokerError && error.retriable ? 'soon' : 'slowly';
}
