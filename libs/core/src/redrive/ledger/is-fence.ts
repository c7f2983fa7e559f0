import {
  ProducerFencedError,
  SendError,
  TransactionOutcomeUnknownError,
} from '@nest-event-bus/broker';

/** Returns whether another claim of the same partition has ended this one. */
export function isFence(error: unknown): boolean {
  if (error instanceof ProducerFencedError) return true;
  const wraps = error instanceof SendError || error instanceof TransactionOutcomeUnknownError;
  return wraps && isFence(error.cause);
}
