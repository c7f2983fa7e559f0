import type { Decision, RecordDecision } from './decision.js';
import type { WriteDestination } from './destination.js';
import type { FailedOutcome } from './failed-outcome.js';
import type { RememberedFailure } from './failure-report.js';

/** A write to a retry or dead-letter topic that failed and is repeated. */
export interface PendingWrite {
  /** Decided once. A circuit that opens meanwhile does not change it: it would wait for a record that waits for it. */
  readonly destination: WriteDestination;
  readonly report: RememberedFailure;
}

/** The record is not delivered again before its time. */
export interface RecordWait {
  readonly reason: 'backoff' | 'delay';
  /** The end of the wait, by the monotonic clock. */
  readonly until: number;
  readonly error?: Error;
}

/** The earlier deliveries of a record, within one assignment of its partition. The lane owns it. */
export interface DeliveryHistory {
  /** Earlier deliveries, failed or handed back. */
  readonly redeliveries: number;
  /** Earlier deliveries that failed. A record that was handed back, or that was not tried at all, has not failed. */
  readonly failures: number;
  /** Handler calls in the deliveries that failed. */
  readonly calls: number;
  /** The latest failure with a handler call. */
  readonly lastFailure?: RememberedFailure;
  /** The handler is not called again until the write has succeeded. */
  readonly pendingWrite?: PendingWrite;
  /** Carried out instead of a handler call. */
  readonly decision?: RecordDecision;
  /** Set while the record waits in memory for its next delivery. */
  readonly wait?: RecordWait;
}

export const FIRST_DELIVERY: DeliveryHistory = Object.freeze({
  redeliveries: 0,
  failures: 0,
  calls: 0,
});

/** Says whether the router takes the delivery without a handler call. */
export function needsNoCall({ decision, pendingWrite }: DeliveryHistory): boolean {
  return decision !== undefined || pendingWrite !== undefined;
}

/** The history of the next delivery, after the record was handed back. */
export function afterHandBack(history: DeliveryHistory): DeliveryHistory {
  return { ...history, redeliveries: history.redeliveries + 1, wait: undefined };
}

/** The history of the next delivery, after this one failed. */
export function afterFailure(history: DeliveryHistory, failed: FailedOutcome): DeliveryHistory {
  const { attempts } = failed;
  const next = { ...afterHandBack(history), ...pendingWriteOf(failed) };
  // Failures without a handler call do not replace the last handler failure.
  if (attempts === 0) return next;
  return {
    ...next,
    failures: history.failures + 1,
    calls: history.calls + attempts,
    lastFailure: reportOf(failed) ?? history.lastFailure,
  };
}

/** `retry` only takes back an earlier decision. */
export function withDecision(history: DeliveryHistory, decision: Decision): DeliveryHistory {
  return { ...history, decision: decision === 'retry' ? undefined : decision };
}

function pendingWriteOf(failed: FailedOutcome): Pick<DeliveryHistory, 'pendingWrite'> {
  return failed.reason === 'write-failed' ? { pendingWrite: failed.pendingWrite } : {};
}

function reportOf(failed: FailedOutcome): RememberedFailure | undefined {
  if (failed.reason === 'write-failed') return failed.pendingWrite.report;
  return 'report' in failed ? failed.report : undefined;
}
