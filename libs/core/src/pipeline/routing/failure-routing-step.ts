import type { BrokerRecord } from '@nest-event-bus/broker';
import { needsNoCall } from '../../model/outcomes/delivery-history.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type { FailedOutcome } from '../../model/outcomes/failed-outcome.js';
import { handedBack, isFinal, type Outcome } from '../../model/outcomes/outcome.js';
import { andThen } from '../and-then.js';
import type { PipelineStep } from '../pipeline-step.js';
import type { RecordCall } from '../record-call.js';

/** Decides where a failed record goes, and writes it there. */
export interface RoutesFailures {
  route(delivery: Delivery, failed: FailedOutcome): Promise<Outcome>;
  /** Carries out a decision, or repeats a write that failed. undefined: the handler is to be called. */
  routeWithoutCall(delivery: Delivery): Promise<Outcome> | undefined;
}

/** Knows which records of a retry topic belong to the binding, and when their delay is over. */
export interface RetryTopicRules {
  isForeign(record: BrokerRecord): boolean;
  dueAt(record: BrokerRecord): number;
}

export interface FailureRouting {
  readonly router: RoutesFailures;
  /** Left out for the main topic. */
  readonly retryTopic?: RetryTopicRules | undefined;
}

const foreign: Outcome = Object.freeze({ kind: 'discarded', reason: 'foreign' });

/** Routes a record that failed for good, before it counts as done. */
export class FailureRoutingStep implements PipelineStep {
  readonly #router: RoutesFailures;
  readonly #retryTopic: RetryTopicRules | undefined;

  constructor(
    private readonly next: PipelineStep,
    { router, retryTopic }: FailureRouting,
  ) {
    this.#router = router;
    this.#retryTopic = retryTopic;
  }

  process(call: RecordCall): Outcome | Promise<Outcome> {
    return this.#bypassesHandler(call)
      ? this.#withoutHandler(call)
      : andThen(this.next.process(call), this.#routeFailure, call);
  }

  /** Processes the records up to the next one that its handler must not see, or that one alone. */
  async processSlice(slice: readonly RecordCall[]): Promise<readonly Outcome[]> {
    const end = slice.findIndex((call) => this.#bypassesHandler(call));
    if (end === 0) return [await this.#withoutHandler(slice[0]!)];
    const segment = end === -1 ? slice : slice.slice(0, end);
    const handled = await this.next.processSlice(segment);
    const outcomes: Outcome[] = [];
    // Records that were handled behind a failed one stay done, wherever that one goes.
    for (const [index, outcome] of handled.entries())
      outcomes.push(await this.#routeFailure(outcome, segment[index]!));
    return outcomes.slice(0, endOf(handled, outcomes));
  }

  /** A foreign record, or one whose failure is known and whose destination was not reached yet. */
  #bypassesHandler({ delivery: { record, history } }: RecordCall): boolean {
    return needsNoCall(history) || this.#retryTopic?.isForeign(record) === true;
  }

  #withoutHandler({ delivery }: RecordCall): Outcome | Promise<Outcome> {
    if (this.#retryTopic?.isForeign(delivery.record)) return foreign;
    return this.#router.routeWithoutCall(delivery) ?? handedBack;
  }

  readonly #routeFailure = (
    outcome: Outcome,
    { delivery }: RecordCall,
  ): Outcome | Promise<Outcome> =>
    outcome.kind === 'failed' ? this.#router.route(delivery, outcome) : outcome;
}

/**
 * The call of the handler ended at a failed record. If that record has left its topic, the records
 * behind it that nobody asked to delay are left out: they are passed in again at once.
 */
function endOf(handled: readonly Outcome[], outcomes: readonly Outcome[]): number {
  const end = handled.findLastIndex((outcome) => !isHandedBackWithoutDelay(outcome)) + 1;
  const hasFailed = handled.some(({ kind }) => kind === 'failed');
  return hasFailed && outcomes.slice(0, end).every(isFinal) ? end : outcomes.length;
}

function isHandedBackWithoutDelay(outcome: Outcome): boolean {
  return outcome.kind === 'handed-back' && outcome.delayMs === undefined;
}
