import type { BatchRedelivery } from './failed-outcome.js';
import type { DltCause, DltReason } from '../records/dlt-record.js';

/** The reason and the cause for which a record is dead-lettered. */
export interface DeadLetterReason {
  readonly reason: DltReason;
  readonly cause: DltCause;
}

export interface RetryDestination {
  readonly kind: 'retry';
  readonly tier: number;
  readonly topic: string;
  /** The delivery within that tier, from 1. */
  readonly delivery: number;
}

export interface DeadLetterDestination extends DeadLetterReason {
  readonly kind: 'dead-letter';
}

/** A topic to which a failed record is written. */
export type WriteDestination = RetryDestination | DeadLetterDestination;

/** The destination of a failed record. */
export type Destination =
  | WriteDestination
  | { readonly kind: 'keep-in-place'; readonly batch?: BatchRedelivery }
  | { readonly kind: 'pause-partition' }
  | { readonly kind: 'pause-binding' };

export const KEEP_IN_PLACE: Destination = Object.freeze({ kind: 'keep-in-place' });
export const REDELIVER_FROM_FAILED_RECORD: Destination = Object.freeze({
  kind: 'keep-in-place',
  batch: 'from-failed-record',
});
export const REDELIVER_ONE_BY_ONE: Destination = Object.freeze({
  kind: 'keep-in-place',
  batch: 'one-by-one',
});
export const PAUSE_PARTITION: Destination = Object.freeze({ kind: 'pause-partition' });
export const PAUSE_BINDING: Destination = Object.freeze({ kind: 'pause-binding' });
