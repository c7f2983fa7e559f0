import type { PendingWrite } from './delivery-history.js';
import type { RememberedFailure } from './failure-report.js';

interface Failed<Reason extends string> {
  readonly kind: 'failed';
  readonly reason: Reason;
  readonly error: Error;
  /**
   * Handler calls in this delivery. For a record that could not be prepared for its call it is 1.
   */
  readonly attempts: number;
  /** The time of the first failure if there were several attempts: milliseconds since 1970. */
  readonly firstFailedAt?: number;
  /**
   * Time of the first failed call in this topic, by the monotonic clock, if `maxElapsedMs` limits
   * the calls.
   */
  readonly failingSince?: number;
  /**
   * True if the attempts failed in different ways: the name or the message of the error differs.
   */
  readonly hasVaried?: boolean;
  /** Wait before the record is redelivered. If undefined, the lane's backoff decides. */
  readonly delayMs?: number;
}

/** A failure of the pipeline. The failure router decides where its record goes. */
export type Failure =
  /**
   * A call failed, and the retry policy has not decided yet. Only used between the steps of the
   * pipeline.
   */
  | Failed<'call-failed'>
  /** Every call that `retry` allows for this error was made. */
  | Failed<'retry-exhausted'>
  /** The wait before the next call does not fit into what is left of maxPollIntervalMs. */
  | Failed<'budget-exceeded'>
  /** The message is bad: no call can ever help. */
  | Failed<'bad-message'>
  /** The handler called `ctx.deadLetter(reason)`. */
  | Failed<'handler-gave-up'>
  /** The circuit breaker admitted no call. */
  | Failed<'circuit-open'>
  /** The record could not be prepared for its handler, or the error is not the handler's. */
  | Failed<'not-called'>
  /**
   * A batch handler threw without naming the failed record, so the records are redelivered one by
   * one.
   */
  | Failed<'unattributed'>
  /** Further calls are allowed, each in its own delivery; or a store or registry did not answer. */
  | Failed<'redeliver'>;

/**
 * How a failed batch is delivered again at once: the failed record alone and the records after it
 * as a slice, or one record after the other because the failed one is not known.
 */
export type BatchRedelivery = 'from-failed-record' | 'one-by-one';

/** A failure after the router: the record is redelivered, and its partition or its key waits. */
export type UnfinishedFailure =
  | (Failed<'redeliver'> & {
      /** Report of the failure; set by the router. */
      readonly report?: RememberedFailure;
      /** Set if the partition does not wait, because the records of its slice are still in memory. */
      readonly batch?: BatchRedelivery;
      /**
       * Called by the lane when it knows in how many milliseconds the record is delivered again;
       * undefined if that depends on something else. Set by the router, which reports the failure.
       */
      readonly onRedelivery?: (inMs: number | undefined) => void;
    })
  /** The partition waits until an operator decides about the record. */
  | (Failed<'awaiting-decision'> & { readonly report: RememberedFailure })
  /**
   * The write to the retry or dead-letter topic failed. It is repeated, and the handler is not
   * called.
   */
  | (Failed<'write-failed'> & { readonly pendingWrite: PendingWrite });

export type FailedOutcome = Failure | UnfinishedFailure;

export type FailureReason = FailedOutcome['reason'];
