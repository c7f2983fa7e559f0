import type { Decision, RecordDecision } from './decision.js';
import type { WriteDestination } from './destination.js';
import type { FailedOutcome } from './failed-outcome.js';
import type { RememberedFailure } from './failure-report.js';

/** A write to a retry or dead-letter topic that failed and is repeated. */
export interface PendingWrite {
  /**
   * Destination, decided once. A circuit that opens meanwhile does not change it: the record would
   * wait for the circuit, and the circuit for a call with the record.
   */
  readonly destination: WriteDestination;
  readonly report: RememberedFailure;
}

/** A wait of a record before its next delivery. */
export interface RecordWait {
  readonly reason: 'backoff' | 'delay';
  /** The end of the wait, on the monotonic clock. */
  readonly until: number;
  readonly error?: Error;
}

/** The earlier deliveries of a record, within one assignment of its partition. The lane owns it. */
export interface DeliveryHistory {
  /** Number of earlier deliveries, whether they failed or were handed back. */
  readonly redeliveries: number;
  /**
   * Number of earlier deliveries that failed. A delivery in which no handler was called, or in which
   * the handler asked for another delivery (handed back), has not failed.
   */
  readonly failures: number;
  /** Failed handler calls in the earlier deliveries. */
  readonly calls: number;
  /** Redeliveries of the batch by SEEK_TO_FAILED, after the calls that tier 0 (no delay) allows. */
  readonly batchRedeliveries?: number;
  /** True if the latest call failed for any record of its batch, because its error named none. */
  readonly isUnattributed?: boolean;
  /** Time of the first failed call, by the monotonic clock, if `maxElapsedMs` limits the calls. */
  readonly failingSince?: number;
  /** The latest failure with a handler call. */
  readonly lastFailure?: RememberedFailure;
  /** A write that has to succeed before the handler may be called again. */
  readonly pendingWrite?: PendingWrite;
  /** An operator's decision, which is applied instead of a handler call. */
  readonly decision?: RecordDecision;
  /** Set while the record waits in memory for its next delivery. */
  readonly wait?: RecordWait;
}

export const FIRST_DELIVERY: DeliveryHistory = Object.freeze({
  redeliveries: 0,
  failures: 0,
  calls: 0,
});

/**
 * Returns the history for the next delivery after the record was handed back, with `calls` failed
 * calls.
 */
export function afterHandBack(history: DeliveryHistory, calls = 0): DeliveryHistory {
  const redeliveries = history.redeliveries + 1;
  return { ...history, redeliveries, calls: history.calls + calls, wait: undefined };
}

/** Returns the history for the next delivery after this one failed. */
export function afterFailure(history: DeliveryHistory, failed: FailedOutcome): DeliveryHistory {
  const { attempts } = failed;
  const next = { ...afterHandBack(history), ...pendingWriteOf(failed) };
  // A failure without a handler call does not replace the latest failure of the handler.
  if (attempts === 0) return next;
  return {
    ...next,
    failures: history.failures + 1,
    calls: history.calls + attempts,
    lastFailure: reportOf(failed) ?? history.lastFailure,
    ...afterBatch(history, failed),
    ...(failed.failingSince !== undefined && { failingSince: failed.failingSince }),
  };
}

/** Returns the history with the decision. `retry` only removes an earlier decision. */
export function withDecision(history: DeliveryHistory, decision: Decision): DeliveryHistory {
  return { ...history, decision: decision === 'retry' ? undefined : decision };
}

function afterBatch(
  { batchRedeliveries = 0, isUnattributed }: DeliveryHistory,
  failed: FailedOutcome,
): Pick<DeliveryHistory, 'batchRedeliveries' | 'isUnattributed'> | undefined {
  const batch = 'batch' in failed ? failed.batch : undefined;
  if (batch === 'from-failed-record')
    return { batchRedeliveries: batchRedeliveries + 1, isUnattributed: false };
  const isOneByOne = batch === 'one-by-one';
  return isOneByOne === (isUnattributed ?? false) ? undefined : { isUnattributed: isOneByOne };
}

function pendingWriteOf(failed: FailedOutcome): Pick<DeliveryHistory, 'pendingWrite'> {
  return failed.reason === 'write-failed' ? { pendingWrite: failed.pendingWrite } : {};
}

function reportOf(failed: FailedOutcome): RememberedFailure | undefined {
  if (failed.reason === 'write-failed') return failed.pendingWrite.report;
  return 'report' in failed ? failed.report : undefined;
}
