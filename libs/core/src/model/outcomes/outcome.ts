import type { BrokerRecord, OutgoingRecord } from '@nest-event-bus/broker';
import type { Delivery } from './delivery.js';
import type { DltCause, DltReason } from '../records/dlt-record.js';
import type { FailedOutcome } from './failed-outcome.js';

/**
 * The result of a delivery. After `failed` and `handed-back` the watermark cannot pass the record;
 * after the other results it can.
 */
export type Outcome =
  | ({ readonly kind: 'succeeded' } & WithOutputs)
  | ({ readonly kind: 'discarded'; readonly reason: string } & WithOutputs)
  /** The record was written to a retry topic, and all in-sync replicas have acknowledged it. */
  | { readonly kind: 'retried'; readonly tier: number; readonly delivery: number }
  /**
   * The record was written to the dead-letter topic, and all in-sync replicas have acknowledged it.
   */
  | { readonly kind: 'dead-lettered'; readonly reason: DltReason; readonly cause: DltCause }
  | FailedOutcome
  | HandedBack;

export interface HandedBack {
  readonly kind: 'handed-back';
  readonly delayMs?: number;
  /** Failed calls of this delivery, if its wait before another call was cancelled. */
  readonly calls?: number;
}

/**
 * Records that the handler sent with `ctx.transaction`. Absent if there are none, or if they are
 * written already.
 */
interface WithOutputs {
  readonly outputs?: readonly OutgoingRecord[];
}

/**
 * Outcome of a record of a slice. A promise: the record is being written to another topic, and the
 * records after it may be handled meanwhile. The promise never rejects.
 */
export type SliceOutcome = Outcome | Promise<Outcome>;

/** Resolves when no record of the slice is being written any more. */
export function settledOutcomes(outcomes: readonly SliceOutcome[]): Promise<readonly Outcome[]> {
  return Promise.all(outcomes.map(async (outcome) => outcome));
}

/** Reason of a discarded record that was handled before. */
export const DUPLICATE = 'already-processed';

export const succeeded: Outcome = Object.freeze({ kind: 'succeeded' });

/** Returns whether the watermark may pass the record. */
export function isFinal({ kind }: Outcome): boolean {
  return kind !== 'failed' && kind !== 'handed-back';
}

export function isFailed(outcome: Outcome): outcome is FailedOutcome {
  return outcome.kind === 'failed';
}

/** Returns whether the lane delivers a failed record again from memory, without a pause. */
export function isRedeliveredAtOnce(outcome: Outcome): boolean {
  return outcome.kind === 'failed' && outcome.reason === 'redeliver' && 'batch' in outcome;
}

export function isHandedBackWithoutDelay(outcome: Outcome): boolean {
  return outcome.kind === 'handed-back' && outcome.delayMs === undefined;
}

/** Outcome of a record that is handed back without a delay. */
export const handedBack: Outcome = Object.freeze({ kind: 'handed-back' });

/** Outcome of a record whose wait before another call was cancelled. */
export const handedBackAfter = (calls: number): Outcome =>
  calls === 0 ? handedBack : { kind: 'handed-back', calls };

/** Processes the records of a lane. An implementation never throws: a failure is an outcome. */
export interface RecordProcessor {
  process(delivery: Delivery): Outcome | Promise<Outcome>;
  /**
   * Returns the time at which the record may be handed out: milliseconds since 1970, as is
   * `readAt`, when the record was read. Until then the lane waits with this record and all later
   * ones. Absent if records are due at once.
   */
  dueAt?(record: BrokerRecord, readAt: number): number;
  /**
   * Takes a slice of one partition, and returns outcomes for the first records of the slice, in
   * order. If all of these are done, the lane calls the method again with the other records.
   * Returning no outcome is a failure, unless the work was cancelled. Present only for batch
   * handlers and transactions.
   */
  processSlice?(
    slice: readonly Delivery[],
  ): readonly SliceOutcome[] | Promise<readonly SliceOutcome[]>;
  /** Called before the session with this index joins its group. */
  open?(sessionIndex: number): void;
  /** Called after the session has left its group. Ends within a limited time and never rejects. */
  close?(sessionIndex: number): Promise<void>;
}
