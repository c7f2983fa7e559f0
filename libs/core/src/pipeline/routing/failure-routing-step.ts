import type { BrokerRecord } from '@nest-event-bus/broker';
import type { CallAgain } from '../../model/events/event-bus-events.js';
import { FIRST_DELIVERY, type DeliveryHistory } from '../../model/outcomes/delivery-history.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type { FailedOutcome, Failure } from '../../model/outcomes/failed-outcome.js';
import {
  handedBack,
  isFailed,
  isFinal,
  isHandedBackWithoutDelay,
  isRedeliveredAtOnce,
  settledOutcomes,
  type Outcome,
  type SliceOutcome,
} from '../../model/outcomes/outcome.js';
import { andThen } from '../and-then.js';
import type { PipelineStep } from '../pipeline-step.js';
import type { RecordCall } from '../record-call.js';

/** Decides the destination of a failed record, and writes the record to it. */
export interface RoutesFailures {
  /** Returns a promise only if the record is written to a topic. Never throws or rejects. */
  route(delivery: Delivery, failed: FailedOutcome): Outcome | Promise<Outcome>;
  /** Reports a failed call after which the handler is called again. Never throws. */
  onCallFailed?(delivery: Delivery, failed: Failure, again: CallAgain): void;
  /** Reports that a record has succeeded, if it had failed before. Never throws. */
  onSucceeded?(delivery: Delivery, failedCalls: number): void;
  /** Reports that a record was discarded without a failure. Never throws. */
  onDiscarded?(delivery: Delivery, reason: string): void;
  /**
   * Applies an operator's decision, or repeats a write that failed. Returns undefined if the
   * handler has to be called.
   */
  routeWithoutCall(delivery: Delivery): Promise<Outcome> | undefined;
}

/** Decides which records of a retry topic belong to the binding, and when their delay is over. */
export interface RetryTopicRules {
  isForeign(record: BrokerRecord): boolean;
  /** `readAt` is when the record was read, in milliseconds since 1970. */
  dueAt(record: BrokerRecord, readAt: number): number;
}

export interface FailureRouting {
  readonly router: RoutesFailures;
  /** Rules of the retry topic. Omitted for the main topic. */
  readonly retryTopic?: RetryTopicRules | undefined;
}

/** Routes a record that failed for good, before the record counts as done. */
export class FailureRoutingStep implements PipelineStep<SliceOutcome> {
  readonly #router: RoutesFailures;
  readonly #isRetryTopic: boolean;

  constructor(
    private readonly next: PipelineStep,
    { router, retryTopic }: FailureRouting,
    /** True if records may be handled while an earlier one is being written to another topic. */
    private readonly mayHandleAhead = false,
  ) {
    this.#router = router;
    this.#isRetryTopic = retryTopic !== undefined;
  }

  process(call: RecordCall): Outcome | Promise<Outcome> {
    return needsNoCall(call.delivery.history)
      ? this.#withoutHandler(call)
      : andThen(this.next.process(call), this.#conclude, call);
  }

  /**
   * Processes the records before the first one that must not be passed to the handler. If the slice
   * begins with such a record, processes only that one.
   */
  async processSlice(slice: readonly RecordCall[]): Promise<readonly SliceOutcome[]> {
    const end = slice.findIndex(({ delivery }) => needsNoCall(delivery.history));
    if (end === 0) return [await this.#withoutHandler(slice[0]!)];
    const segment = end === -1 ? slice : slice.slice(0, end);
    const handled = await this.next.processSlice(segment);
    // Records that were handled after a failed one keep their outcome, whatever the destination of
    // the failed one is. The writes to one topic are sent in the order of the records.
    const concluded = handled.map((outcome, index) => this.#conclude(outcome, segment[index]!));
    if (!handled.some(isFailed)) return concluded;
    const outcomes = this.mayHandleAhead ? concluded : await settledOutcomes(concluded);
    return outcomes.slice(0, endOf(handled, outcomes));
  }

  /**
   * Routes a record without calling its handler, because an operator has decided about the record,
   * or because its write to another topic failed earlier and has to be repeated.
   */
  #withoutHandler({ delivery }: RecordCall): Outcome | Promise<Outcome> {
    return this.#router.routeWithoutCall(delivery) ?? handedBack;
  }

  /** Routes a failure. Other outcomes are returned unchanged. */
  readonly #conclude = (outcome: Outcome, call: RecordCall): Outcome | Promise<Outcome> => {
    if (outcome.kind === 'failed') return this.#router.route(call.delivery, outcome);
    this.#tell(outcome, call);
    return outcome;
  };

  /** Reports a success after failures, and a record that was discarded. */
  #tell(outcome: Outcome, call: RecordCall): void {
    if (outcome.kind === 'succeeded') {
      if (this.#mayHaveFailed(call)) this.#router.onSucceeded?.(call.delivery, call.failedCalls);
    } else if (outcome.kind === 'discarded') {
      this.#router.onDiscarded?.(call.delivery, outcome.reason);
    }
  }

  /** Returns false for nearly every record, so that a success costs no further work. */
  #mayHaveFailed({ failedCalls, delivery }: RecordCall): boolean {
    return this.#isRetryTopic || failedCalls > 0 || delivery.history !== FIRST_DELIVERY;
  }
}

/** Returns whether the router handles the delivery without a handler call. */
function needsNoCall({ decision, pendingWrite }: DeliveryHistory): boolean {
  return decision !== undefined || pendingWrite !== undefined;
}

/**
 * Returns how many outcomes are returned. The handler's call ended at a failed record. That record
 * was written to another topic, or is delivered again at once. Then the later records, which were
 * handed back without a delay, get no outcome. So they are passed to the handler again at once.
 */
function endOf(handled: readonly Outcome[], outcomes: readonly SliceOutcome[]): number {
  const end = handled.findLastIndex((outcome) => !isHandedBackWithoutDelay(outcome)) + 1;
  const continues = outcomes
    .slice(0, end)
    .every(
      (outcome) => outcome instanceof Promise || isFinal(outcome) || isRedeliveredAtOnce(outcome),
    );
  return continues ? end : outcomes.length;
}
