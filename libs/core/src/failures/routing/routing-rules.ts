import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { HandlerRefusedException } from '../../errors/handler-errors.js';
import { BatchFailureStrategy } from '../../model/outcomes/batch-failure-strategy.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import {
  KEEP_IN_PLACE,
  REDELIVER_FROM_FAILED_RECORD,
  REDELIVER_ONE_BY_ONE,
  type Destination,
} from '../../model/outcomes/destination.js';
import { ExceptionRouting } from '../../model/outcomes/exception-routing.js';
import type { Failure } from '../../model/outcomes/failed-outcome.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import type { CircuitBreaker } from '../../model/states/circuit-breaker.js';
import type {
  BindingClassifier,
  FailureClassification,
} from '../classification/binding-classifier.js';
import type { FaultRule } from '../faults/fault.js';
import { ruleFor } from '../faults/fault-of.js';
import { unwrapBatchError } from '../faults/bad-messages.js';
import { destinationOf } from './destination-of.js';

export interface RoutingParts {
  readonly binding: ResolvedBinding;
  /** The tier of the records: 0 is the main topic. */
  readonly tier: number;
  readonly classifier: BindingClassifier;
  /** Circuit breaker; undefined if the binding has none. */
  readonly breaker: Pick<CircuitBreaker, 'state'> | undefined;
}

/**
 * A failed delivery, with everything that the rules need. The classifier and the fault rules run at
 * most once.
 */
export class FailureCase {
  #fault: { readonly rule: FaultRule | undefined } | undefined;
  #classification: FailureClassification | undefined;

  constructor(
    readonly parts: RoutingParts,
    readonly delivery: Delivery,
    readonly failed: Failure,
    readonly report: FailureReport,
  ) {}

  get binding(): ResolvedBinding {
    return this.parts.binding;
  }

  get classification(): FailureClassification {
    const { classifier, tier } = this.parts;
    return (this.#classification ??= classifier.classify(this.failed, tier, () => this.#faultRule));
  }

  /**
   * Returns whether the failure is an outage of a dependency, for which the circuit breaker decides
   * when the handler is called again. During an outage the main topic must not be emptied into the
   * retry topics. A record that alone has failed `minimumNumberOfCalls` times while the circuit
   * stayed closed is no outage: the calls of other records succeed.
   */
  get isOutage(): boolean {
    const { breaker, binding } = this.parts;
    if (!breaker || this.failed.reason === 'circuit-open') return false;
    if (this.#faultRule?.fault !== 'dependency') return false;
    const deliveries = this.delivery.history.failures + 1;
    return breaker.state !== 'CLOSED' || deliveries < binding.circuitBreaker.minimumNumberOfCalls;
  }

  /** Returns whether the handler was called, and the failure is the result of that call. */
  get wasCalled(): boolean {
    const { attempts, reason } = this.failed;
    return attempts > 0 && reason !== 'not-called' && reason !== 'unattributed';
  }

  get #faultRule(): FaultRule | undefined {
    this.#fault ??= { rule: ruleFor(unwrapBatchError(this.failed.error)) };
    return this.#fault.rule;
  }
}

/** Returns a destination, or undefined to leave the decision to the next rule. */
type RoutingRule = (failure: FailureCase) => Destination | undefined;

/** Rules of the router in their order. The first rule that returns a destination decides. */
const ROUTING_RULES: readonly RoutingRule[] = [
  keepRefusedByGuard,
  deadLetterGivenUpByHandler,
  keepWithCallsLeft,
  keepDuringOutage,
  applyBatchStrategy,
  deadLetterBeyondBudget,
  deadLetterPoison,
];

/**
 * Decides where a failed record goes. If no rule answers, the classification of the error decides.
 */
export function decideDestination(failure: FailureCase): Destination {
  for (const rule of ROUTING_RULES) {
    const destination = rule(failure);
    if (destination) return destination;
  }
  const { classification, failed, report, binding } = failure;
  return destinationOf(classification.decision, failed, report, binding);
}

/**
 * Redelivers a record that a guard refused, because the guard may let it pass later. The refusal
 * does not count as a failure of the record.
 */
function keepRefusedByGuard({ failed: { error } }: FailureCase): Destination | undefined {
  return error instanceof HandlerRefusedException ? KEEP_IN_PLACE : undefined;
}

function deadLetterGivenUpByHandler({ failed: { reason } }: FailureCase): Destination | undefined {
  return reason === 'handler-gave-up'
    ? { kind: 'dead-letter', reason: 'MANUAL', cause: 'handler' }
    : undefined;
}

/** Redelivers a record that has calls left, unless it is poison. */
function keepWithCallsLeft(failure: FailureCase): Destination | undefined {
  switch (failure.failed.reason) {
    case 'unattributed':
      return REDELIVER_ONE_BY_ONE;
    case 'redeliver':
      return poisonInPlace(failure) ?? KEEP_IN_PLACE;
    default:
      return undefined;
  }
}

/**
 * Redelivers a record during an outage. A destination that the application has chosen has priority.
 */
function keepDuringOutage(failure: FailureCase): Destination | undefined {
  return !failure.classification.isExplicit && failure.isOutage ? KEEP_IN_PLACE : undefined;
}

/**
 * Redelivers a batch from the failed record on with SEEK_TO_FAILED, a limited number of times.
 * Otherwise a record that always fails would be delivered for ever. A redelivery without a handler
 * call does not count, and waits as in an outage.
 */
function applyBatchStrategy(failure: FailureCase): Destination | undefined {
  const { listenerType, batchFailureStrategy, batchRedeliveries } = failure.binding;
  const { decision, isPermanent } = failure.classification;
  if (listenerType !== 'BATCH' || isPermanent) return undefined;
  if (decision.routing === ExceptionRouting.PAUSE_CONTAINER) return undefined;
  switch (batchFailureStrategy) {
    case BatchFailureStrategy.SEEK_TO_FAILED:
      if ((failure.delivery.history.batchRedeliveries ?? 0) >= batchRedeliveries) return undefined;
      return failure.failed.attempts === 0
        ? KEEP_IN_PLACE
        : (poisonInPlace(failure) ?? REDELIVER_FROM_FAILED_RECORD);
    case BatchFailureStrategy.DLQ_AND_CONTINUE:
      return { kind: 'dead-letter', reason: 'RETRIES_EXHAUSTED', cause: 'batch-failure' };
  }
}

/**
 * Dead-letters a record beyond its retry budget. With PAUSE_PARTITION the rule does not apply, and
 * the record is routed like one that had all its calls.
 */
function deadLetterBeyondBudget({
  failed,
  binding,
  classification,
}: FailureCase): Destination | undefined {
  const { retry, orderingMode, strictExhaustion } = binding;
  if (failed.reason !== 'budget-exceeded' || retry.onBudgetExceeded !== 'DLT') return undefined;
  if (classification.isExplicit) return undefined;
  if (orderingMode === 'STRICT' && strictExhaustion === 'PAUSE_PARTITION') return undefined;
  return { kind: 'dead-letter', reason: 'RETRIES_EXHAUSTED', cause: 'budget-exceeded' };
}

/**
 * Dead-letters poison without the remaining tiers. A destination that the application has chosen
 * itself has priority.
 */
function deadLetterPoison(failure: FailureCase): Destination | undefined {
  const { isPoison, totalAttempts } = failure.report;
  const { poisonAfter } = failure.binding.retry;
  if (poisonAfter === 0 || !isPoison || totalAttempts < poisonAfter) return undefined;
  const { isExplicit, decision } = failure.classification;
  return isExplicit && decision.routing !== ExceptionRouting.NEXT_TIER
    ? undefined
    : { kind: 'dead-letter', reason: 'RETRIES_EXHAUSTED', cause: 'poison' };
}

/**
 * Dead-letters a record that has calls left but is poison, because they would fail like the earlier
 * ones. A delivery without a handler call does not show that.
 */
function poisonInPlace(failure: FailureCase): Destination | undefined {
  return failure.wasCalled && !failure.isOutage ? deadLetterPoison(failure) : undefined;
}
