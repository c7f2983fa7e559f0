import type { PendingWrite } from './delivery-history.js';
import type { RememberedFailure } from './failure-report.js';

interface Failed<Reason extends string> {
  readonly kind: 'failed';
  readonly reason: Reason;
  readonly error: Error;
  /** Handler calls in this delivery. A record that could not be prepared for its call was tried once. */
  readonly attempts: number;
  /** The time of the first failure, if there were several attempts: milliseconds since 1970. */
  readonly firstFailedAt?: number;
  /** The attempts did not all fail in the same way: the name or the message of the error differs. */
  readonly hasVaried?: boolean;
  /** Wait before the record is delivered again, if it stays in its place. Without it the lane's backoff decides. */
  readonly delayMs?: number;
}

/** A failure of the pipeline. The failure router decides where its record goes. */
export type Failure =
  /** A call failed, and the retry policy has not been asked yet. Only between the steps of the pipeline. */
  | Failed<'call-failed'>
  /** Every call that `retry` grants for this error was made. */
  | Failed<'retry-exhausted'>
  /** Waiting for the next call would take longer than maxPollIntervalMs leaves. */
  | Failed<'budget-exceeded'>
  /** The message is bad: no call can ever help. */
  | Failed<'bad-message'>
  /** The handler called `ctx.deadLetter(reason)`. */
  | Failed<'handler-gave-up'>
  /** The circuit breaker let no call pass. */
  | Failed<'circuit-open'>
  /** The record could not be prepared for its handler, or the error is not the handler's. */
  | Failed<'not-called'>
  /** A batch handler threw without naming the record: the records are delivered again one by one. */
  | Failed<'unattributed'>
  /** More calls are left, each in a delivery of its own; or a store or registry did not answer. */
  | Failed<'redeliver'>;

/** A failure after the router: the record stays in its place, and its partition or its key waits. */
export type UnfinishedFailure =
  | (Failed<'redeliver'> & {
      /** Known once the failure went through the router. */
      readonly report?: RememberedFailure;
    })
  /** The partition waits until an operator decides about the record. */
  | (Failed<'awaiting-decision'> & { readonly report: RememberedFailure })
  /** The retry or dead-letter topic did not take the record: the write is repeated, the handler is not called. */
  | (Failed<'write-failed'> & { readonly pendingWrite: PendingWrite });

export type FailedOutcome = Failure | UnfinishedFailure;

export type FailureReason = FailedOutcome['reason'];
