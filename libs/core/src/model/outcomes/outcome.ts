import type { BrokerRecord, OutgoingRecord } from '@nest-event-bus/broker';
import type { Delivery } from './delivery.js';
import type { DltCause, DltReason } from '../records/dlt-record.js';
import type { FailureSummary } from './failed-before.js';

/** What became of a delivery. `failed` and `handed-back` keep the watermark where it is; the others let it pass. */
export type Outcome =
  | ({ readonly kind: 'succeeded' } & WithOutputs)
  | ({ readonly kind: 'discarded'; readonly reason: string } & WithOutputs)
  /** A retry topic has it, acknowledged by all in-sync replicas. */
  | { readonly kind: 'retried'; readonly tier: number; readonly delivery: number }
  /** Its dead-letter topic has it, acknowledged by all in-sync replicas. */
  | { readonly kind: 'dead-lettered'; readonly reason: DltReason; readonly cause: DltCause }
  | FailedOutcome
  | { readonly kind: 'handed-back'; readonly delayMs?: number };

/** What the handler sent with `ctx.transaction`; left out where it sent nothing, or it is written already. */
interface WithOutputs {
  readonly outputs?: readonly OutgoingRecord[];
}

export interface FailedOutcome {
  readonly kind: 'failed';
  readonly error: Error;
  /** Calls of the handler in this delivery, or tries to prepare the record for one. Left out for a bad message, which came to none. */
  readonly attempts?: number;
  readonly ending?: FailureEnding;
  /** Its calls did not all fail in the same way: they differ in the name or the message of the error. */
  readonly hasVaried?: boolean;
  /** When the first of them failed: milliseconds since 1970. Left out where that is now. */
  readonly failedSince?: number;
  /** When the first call of the record failed in this topic, by the monotonic clock. Left out: the time is not limited. */
  readonly failingSince?: number;
  /** For the next delivery, where the record stays in its place. */
  readonly failureSummary?: FailureSummary;
  /** Until the record is delivered again. Left out where intake's own backoff decides. */
  readonly delayMs?: number;
  /**
   * It could not be written to where it belongs: that is tried again, and the handler is not
   * called for it. The failure by which it was to leave.
   */
  readonly pendingRouting?: FailedOutcome;
  /** Its partition waits until somebody decides what becomes of the record. */
  readonly until?: 'decided';
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
  | 'circuit-open'
  /** The handler gave the record up: `ctx.deadLetter(reason)`. */
  | 'given-up';

export const succeeded: Outcome = Object.freeze({ kind: 'succeeded' });

/** The watermark may pass the record. */
export function isFinal({ kind }: Outcome): boolean {
  return kind !== 'failed' && kind !== 'handed-back';
}

/** Without a wait that somebody chose. */
export const handedBack: Outcome = Object.freeze({ kind: 'handed-back' });

/** What intake calls. An implementation never throws: a failure is an outcome. */
export interface RecordProcessor {
  process(delivery: Delivery): Outcome | Promise<Outcome>;
  /**
   * When the record may be handed out: milliseconds since 1970. The lane waits with it in its
   * place, and whatever follows in the partition waits too. Left out: at once.
   */
  dueAt?(record: BrokerRecord): number;
  /**
   * Takes a slice of one partition and gives one outcome per record, in order; to those at its end
   * without one it has not come. Where all others are done it is asked again for these, at once or
   * in another slice: so it answers after each call of a handler. None at all is a failure, unless
   * the work was called off. Present for batch handlers and transactions only.
   */
  processSlice?(slice: readonly Delivery[]): readonly Outcome[] | Promise<readonly Outcome[]>;
  /** A session with this index is about to join its group. */
  open?(sessionIndex: number): void;
  /** It has left. Bounded; never rejects. */
  close?(sessionIndex: number): Promise<void>;
}
