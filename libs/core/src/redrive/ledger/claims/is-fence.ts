import {
  ProducerFencedError,
  SendError,
  TransactionOutcomeUnknownError,
} from '@nest-event-bus/broker';

/** A later claim of the partition has begun, in a cluster without transactions. */
export class LaterClaimError extends Error {}

/** Returns whether another claim of the same partition has ended this one. */
export function isFence(error: unknown): boolean {
  if (error instanceof ProducerFencedError || error instanceof LaterClaimError) return true;
  const wraps = error instanceof SendError || error instanceof TransactionOutcomeUnknownError;
  return wraps && isFence(error.cause);
}
