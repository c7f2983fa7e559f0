import type { BrokerRecord } from '@nest-event-bus/broker';
import { Deferred } from '@nest-event-bus/broker/runtime';
import type { Delivery, RecordDecision } from '../../model/outcomes/delivery.js';
import type { Assignment } from '../../model/records/assignment.js';
import type { FailureSummary } from '../../model/outcomes/failed-before.js';
import type { FailedOutcome } from '../../model/outcomes/outcome.js';
import type { RecordWait } from './waiting-records.js';

/** A signal that costs nothing until somebody asks for it: an AbortController takes longer than all the rest of a delivery. */
class LazySignal {
  #controller: AbortController | undefined;
  #reason: Error | undefined;

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  get isAborted(): boolean {
    return this.#reason !== undefined;
  }

  abort(reason: Error): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}

/** What became of the earlier hand-outs of a record. */
export interface DeliveryHistory {
  readonly redeliveries: number;
  readonly failures: number;
  readonly calls: number;
  readonly failureSummary?: FailureSummary;
  /** When the first call failed, by the monotonic clock. */
  readonly failingSince?: number;
  readonly decision?: RecordDecision;
  /** The failure by which it is to leave, once it can be written to where it belongs. */
  readonly pendingRouting?: FailedOutcome;
  /** Its latest failure: somebody may decide about it. */
  readonly lastFailure?: FailedOutcome;
  /** It waits, wherever it comes from. */
  readonly wait?: RecordWait;
}

export const FIRST_DELIVERY: DeliveryHistory = Object.freeze({
  redeliveries: 0,
  failures: 0,
  calls: 0,
});

/** One hand-out of one record by one lane. */
export class LaneDelivery implements Delivery {
  /** How often it was reported as running for too long. */
  reports = 0;
  #receivedAt: number;
  #readySince: number | undefined;
  #startedAt: number | undefined;
  #records = 1;
  #trouble: Error | undefined;
  #hasEnded = false;
  #work: LazySignal | undefined;
  #wait: LazySignal | undefined;
  #ended: Deferred | undefined;

  constructor(
    readonly record: BrokerRecord,
    readonly history: DeliveryHistory,
    receivedAt: number,
    readonly sessionIndex: number,
    readonly assignment?: Assignment,
  ) {
    this.#receivedAt = receivedAt;
  }

  get receivedAt(): number {
    return this.#receivedAt;
  }

  get readySince(): number | undefined {
    return this.#readySince;
  }

  get redeliveries(): number {
    return this.history.redeliveries;
  }

  get failures(): number {
    return this.history.failures;
  }

  get calls(): number {
    return this.history.calls;
  }

  get failureSummary(): FailureSummary | undefined {
    return this.history.failureSummary;
  }

  get failingSince(): number | undefined {
    return this.history.failingSince;
  }

  get decision(): RecordDecision | undefined {
    return this.history.decision;
  }

  get pendingRouting(): FailedOutcome | undefined {
    return this.history.pendingRouting;
  }

  get lastFailure(): FailedOutcome | undefined {
    return this.history.lastFailure;
  }

  /** When its handler began, by the monotonic clock; undefined for one that has answered. */
  get startedAt(): number | undefined {
    return this.#startedAt;
  }

  /** It could not be handed out before this time, nor, by the monotonic clock, before `since`. */
  readyAt(time: number, since: number): void {
    if (time > this.#receivedAt) this.#receivedAt = time;
    if (this.#readySince === undefined || since > this.#readySince) this.#readySince = since;
  }

  /** Its handler has not answered at once. `records`: how many it has; 0 for those that it has besides the first. */
  begin(now: number, records = 1): void {
    this.#startedAt = now;
    this.#records = records;
    this.#trouble = undefined;
  }

  onHandlerReturned(trouble?: Error): void {
    this.#startedAt = undefined;
    this.#trouble = trouble;
  }

  /** What keeps it from being over, although its handler has answered. */
  get trouble(): Error | undefined {
    return this.#trouble;
  }

  get records(): number {
    return this.#records;
  }

  end(): void {
    this.#hasEnded = true;
    this.#ended?.resolve();
  }

  /** What became of it is known. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Nothing that has not begun with it is to begin any more. */
  get isCancelled(): boolean {
    return this.#wait?.isAborted ?? false;
  }

  whenEnded(): Promise<void> {
    if (this.#hasEnded) return Promise.resolve();
    return (this.#ended ??= new Deferred()).promise;
  }

  /** For the next hand-out, after this one failed; or was handed back, which is no attempt, as is a failure without a call. */
  historyAfter(failure?: FailedOutcome): DeliveryHistory {
    const { history } = this;
    const next = { ...history, redeliveries: history.redeliveries + 1 };
    // The wait belongs to the delivery that is over.
    delete (next as { wait?: RecordWait }).wait;
    if (!failure) return next;
    const { attempts = 1, failureSummary, failingSince, pendingRouting } = failure;
    return {
      ...next,
      failures: history.failures + (attempts > 0 ? 1 : 0),
      calls: history.calls + attempts,
      ...(failureSummary && { failureSummary }),
      ...(failingSince !== undefined && { failingSince }),
      ...(pendingRouting && { pendingRouting }),
      // Failures without a handler call do not replace the last handler failure.
      ...(attempts > 0 && { lastFailure: pendingRouting ?? failure }),
    };
  }

  get signal(): AbortSignal {
    return (this.#work ??= new LazySignal()).signal;
  }

  get waitSignal(): AbortSignal {
    return (this.#wait ??= new LazySignal()).signal;
  }

  abort(reason: Error): void {
    this.abortWaits(reason);
    (this.#work ??= new LazySignal()).abort(reason);
  }

  abortWaits(reason: Error): void {
    (this.#wait ??= new LazySignal()).abort(reason);
  }
}

/** Where in the log its record is. */
export function placeOf({ record: { topic, partition, offset } }: LaneDelivery) {
  return { topic, partition, offset };
}
