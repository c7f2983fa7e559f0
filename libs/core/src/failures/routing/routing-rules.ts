import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { HandlerRefusedException } from '../../errors/handler-errors.js';
import { BatchFailureStrategy } from '../../model/outcomes/batch-failure-strategy.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import { KEEP_IN_PLACE, type Destination } from '../../model/outcomes/destination.js';
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
  /** Absent if the binding has no circuit breaker. */
  readonly breaker: Pick<CircuitBreaker, 'state'> | undefined;
}

/** A failed delivery, with everything that the rules look at. The classifier and the fault rules run at most once. */
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
   * A dependency of the handler is down, and a circuit breaker decides when it is called again: an
   * outage must not empty the main topic into the retry topics. If the circuit stays closed although
   * this record alone has given it enough calls to judge by, the other records are well, and the
   * failure is the record's own.
   */
  get isOutage(): boolean {
    const { breaker, binding } = this.parts;
    if (!breaker || this.failed.reason === 'circuit-open') return false;
    if (this.#faultRule?.fault !== 'dependency') return false;
    const deliveries = this.delivery.history.failures + 1;
    return breaker.state !== 'CLOSED' || deliveries < binding.circuitBreaker.minimumNumberOfCalls;
  }

  /** The handler was called, and the failure is that call's. */
  get wasCalled(): boolean {
    const { attempts, reason } = this.failed;
    return attempts > 0 && reason !== 'not-called' && reason !== 'unattributed';
  }

  get #faultRule(): FaultRule | undefined {
    this.#fault ??= { rule: ruleFor(unwrapBatchError(this.failed.error)) };
    return this.#fault.rule;
  }
}

/** undefined leaves the decision to the next rule. */
type RoutingRule = (failure: FailureCase) => Destination | undefined;

/** The policy of the router. The first rule that answers decides. */
const ROUTING_RULES: readonly RoutingRule[] = [
  keepRefusedByGuard,
  deadLetterGivenUpByHandler,
  keepWithCallsLeft,
  keepDuringOutage,
  applyBatchStrategy,
  deadLetterBeyondBudget,
  deadLetterPoison,
];

/** Decides where a failed record goes. If no rule answers, the classification of the error decides. */
export function decideDestination(failure: FailureCase): Destination {
  for (const rule of ROUTING_RULES) {
    const destination = rule(failure);
    if (destination) return destination;
  }
  const { classification, failed, report, binding } = failure;
  return destinationOf(classification.decision, failed, report, binding);
}

/** A guard may let the record pass later, so nothing is held against it. */
function keepRefusedByGuard({ failed: { error } }: FailureCase): Destination | undefined {
  return error instanceof HandlerRefusedException ? KEEP_IN_PLACE : undefined;
}

function deadLetterGivenUpByHandler({ failed: { reason } }: FailureCase): Destination | undefined {
  return reason === 'handler-gave-up'
    ? { kind: 'dead-letter', reason: 'MANUAL', cause: 'handler' }
    : undefined;
}

/** The next call is made in another delivery, unless the record is poison. */
function keepWithCallsLeft(failure: FailureCase): Destination | undefined {
  const { reason } = failure.failed;
  const isLeft = reason === 'redeliver' || reason === 'unattributed';
  return isLeft ? (poisonInPlace(failure) ?? KEEP_IN_PLACE) : undefined;
}

/** An explicit destination of the application counts more than an outage. */
function keepDuringOutage(failure: FailureCase): Destination | undefined {
  return !failure.classification.isExplicit && failure.isOutage ? KEEP_IN_PLACE : undefined;
}

/**
 * SEEK_TO_FAILED reads again from the failed record on, a bounded number of times. A record that
 * always fails would otherwise be read for ever.
 */
function applyBatchStrategy(failure: FailureCase): Destination | undefined {
  const { listenerType, batchFailureStrategy, batchRedeliveries } = failure.binding;
  const { decision, isPermanent } = failure.classification;
  if (listenerType !== 'BATCH' || isPermanent) return undefined;
  if (decision.routing === ExceptionRouting.PAUSE_CONTAINER) return undefined;
  switch (batchFailureStrategy) {
    case BatchFailureStrategy.SEEK_TO_FAILED:
      return failure.delivery.history.failures < batchRedeliveries
        ? (poisonInPlace(failure) ?? KEEP_IN_PLACE)
        : undefined;
    case BatchFailureStrategy.DLQ_AND_CONTINUE:
      return { kind: 'dead-letter', reason: 'RETRIES_EXHAUSTED', cause: 'batch-failure' };
  }
}

/** Does not apply with PAUSE_PARTITION, where the record counts as one that had all its calls. */
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

/** Poison skips the remaining tiers. A destination that the application has chosen itself still counts. */
function deadLetterPoison(failure: FailureCase): Destination | undefined {
  const { isPoison, totalAttempts } = failure.report;
  const { poisonAfter } = failure.binding.retry;
  if (poisonAfter === 0 || !isPoison || totalAttempts < poisonAfter) return undefined;
  const { isExplicit, decision } = failure.classification;
  return isExplicit && decision.routing !== ExceptionRouting.NEXT_TIER
    ? undefined
    : { kind: 'dead-letter', reason: 'RETRIES_EXHAUSTED', cause: 'poison' };
}

/** More calls are left, but they would fail as the earlier ones. A delivery without a call proves nothing. */
function poisonInPlace(failure: FailureCase): Destination | undefined {
  return failure.wasCalled && !failure.isOutage ? deadLetterPoison(failure) : undefined;
}
