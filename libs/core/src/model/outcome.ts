import type { Delivery } from './delivery.js';

/** What became of a delivery. Only `succeeded` and `discarded` let the watermark pass. */
export type Outcome =
  | { readonly kind: 'succeeded' }
  | { readonly kind: 'discarded'; readonly reason: string }
  | FailedOutcome
  | { readonly kind: 'handed-back'; readonly delayMs?: number };

export interface FailedOutcome {
  readonly kind: 'failed';
  readonly error: Error;
  /** Calls of the handler in this delivery. Left out where the record could not be prepared for one. */
  readonly attempts?: number;
  readonly ending?: FailureEnding;
  /** Until the record is delivered again. Left out where intake's own backoff decides. */
  readonly delayMs?: number;
}

/** Why the handler is not called once more in this delivery. */
export type FailureEnding =
  /** All calls that `retry.tier0` grants were made. */
  | 'exhausted'
  /** The message is bad: no call can ever help. */
  | 'permanent'
  /** Outside a whitelist, or refused by a guard: nobody says that no call can help, but none is made. */
  | 'not-retried'
  /** The next wait would take longer than maxPollIntervalMs leaves. */
  | 'over-budget'
  /** `retry.mode: 'seek'`: more calls are left, each by a delivery of its own. */
  | 'delivered-again'
  /** No call was made at all. */
  | 'circuit-open';

export const succeeded: Outcome = Object.freeze({ kind: 'succeeded' });

/** Without a wait that somebody chose. */
export const handedBack: Outcome = Object.freeze({ kind: 'handed-back' });

/** What intake calls. An implementation never throws: a failure is an outcome. */
export interface RecordProcessor {
  process(delivery: Delivery): Outcome | Promise<Outcome>;
  /** Takes a slice of one partition at once and gives one outcome per record, in order. Present for batch handlers only. */
  processSlice?(slice: readonly Delivery[]): readonly Outcome[] | Promise<readonly Outcome[]>;
}
