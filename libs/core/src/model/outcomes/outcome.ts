import type { BrokerRecord, OutgoingRecord } from '@nest-event-bus/broker';
import type { Delivery } from './delivery.js';
import type { DltCause, DltReason } from '../records/dlt-record.js';
import type { FailedOutcome } from './failed-outcome.js';

/** The result of a delivery. `failed` and `handed-back` hold the watermark; the others let it pass the record. */
export type Outcome =
  | ({ readonly kind: 'succeeded' } & WithOutputs)
  | ({ readonly kind: 'discarded'; readonly reason: string } & WithOutputs)
  /** A retry topic has the record, acknowledged by all in-sync replicas. */
  | { readonly kind: 'retried'; readonly tier: number; readonly delivery: number }
  /** The dead-letter topic has the record, acknowledged by all in-sync replicas. */
  | { readonly kind: 'dead-lettered'; readonly reason: DltReason; readonly cause: DltCause }
  | FailedOutcome
  | { readonly kind: 'handed-back'; readonly delayMs?: number };

/** Records that the handler sent with `ctx.transaction`. Absent if there are none, or if they are written already. */
interface WithOutputs {
  readonly outputs?: readonly OutgoingRecord[];
}

export const succeeded: Outcome = Object.freeze({ kind: 'succeeded' });

/** Says whether the watermark may pass the record. */
export function isFinal({ kind }: Outcome): boolean {
  return kind !== 'failed' && kind !== 'handed-back';
}

/** Hands the record back without a delay that a handler chose. */
export const handedBack: Outcome = Object.freeze({ kind: 'handed-back' });

/** Processes the records of a lane. An implementation never throws: a failure is an outcome. */
export interface RecordProcessor {
  process(delivery: Delivery): Outcome | Promise<Outcome>;
  /**
   * The time at which the record may be handed out: milliseconds since 1970. Until then the lane
   * holds the record and everything behind it. Absent if records are due at once.
   */
  dueAt?(record: BrokerRecord): number;
  /**
   * Takes a slice of one partition and returns outcomes in order, after each call of a handler.
   * Records at the end of the slice without an outcome were not reached. If all the others are
   * done, the lane calls it again with those. No outcome at all is a failure, unless the work was
   * cancelled. Present for batch handlers and transactions only.
   */
  processSlice?(slice: readonly Delivery[]): readonly Outcome[] | Promise<readonly Outcome[]>;
  /** Called before the session with this index joins its group. */
  open?(sessionIndex: number): void;
  /** Called after the session has left its group. Ends within a bounded time and never rejects. */
  close?(sessionIndex: number): Promise<void>;
}
