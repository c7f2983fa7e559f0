import { BrokerError, TransactionOutcomeUnknownError } from '@nest-event-bus/broker';

/**
 * Returns whether the work may succeed when it is repeated. An unknown outcome heals, because the
 * next claim reads what was committed.
 */
export function canHeal(error: unknown): boolean {
  return (
    error instanceof TransactionOutcomeUnknownError ||
    (error instanceof BrokerError && error.retriable)
  );
}
