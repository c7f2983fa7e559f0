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
  /** Where the records come from: 0 is the main topic. */
  readonly tier: number;
  readonly classifier: BindingClassifier;
  /** Absent if the binding has no circuit breaker. */
  readonly breaker: Pick<CircuitBreaker, 'state'> | undefined;
}

/** One failed delivery on its way to a destination. Classifiers and fault rules are asked at most once. */
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
   * What the handler needs is down, and a circuit breaker decides when it is tried again: an outage
   * must not empty the main topic into the retry topics. If the circuit stays closed although this
   * record alone has given it enough calls to judge by, the other records are well, and the failure
   * is the record's own.
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

interface RoutingRule {
  readonly name: string;
  /** undefined leaves the decision to the next rule. */
  readonly decide: (failure: FailureCase) => Destination | undefined;
}

/** In this order: the first rule that answers decides. */
const ROUTING_RULES: readonly RoutingRule[] = [
  { name: 'a record that a guard refused stays', decide: refusedByGuard },
  { name: 'a record that its handler gave up is dead-lettered', decide: handlerGaveUp },
  { name: 'a record with calls left stays, unless it is poison', decide: callsLeft },
  { name: 'an outage of a dependency moves no record', decide: outage },
  { name: 'a record of a batch follows batchFailureStrategy', decide: batchFailure },
  { name: 'a record beyond its retry budget follows onBudgetExceeded', decide: budgetExceeded },
  { name: 'a poison record is dead-lettered', decide: poison },
];

/** Where the failed record goes. What no rule decides follows the classification of its error. */
export function decideDestination(failure: FailureCase): Destination {
  for (const { decide } of ROUTING_RULES) {
    const destination = decide(failure);
    if (destination) return destination;
  }
  const { classification, failed, report, binding } = failure;
  return destinationOf(classification.decision, failed, report, binding);
}

function refusedByGuard({ failed: { error } }: FailureCase): Destination | undefined {
  return error instanceof HandlerRefusedException ? KEEP_IN_PLACE : undefined;
}

function handlerGaveUp({ failed: { reason } }: FailureCase): Destination | undefined {
  return reason === 'handler-gave-up'
    ? { kind: 'dead-letter', reason: 'MANUAL', cause: 'handler' }
    : undefined;
}

function callsLeft(failure: FailureCase): Destination | undefined {
  const { reason } = failure.failed;
  const isLeft = reason === 'redeliver' || reason === 'unattributed';
  return isLeft ? (poisonInPlace(failure) ?? KEEP_IN_PLACE) : undefined;
}

function outage(failure: FailureCase): Destination | undefined {
  return !failure.classification.isExplicit && failure.isOutage ? KEEP_IN_PLACE : undefined;
}

/**
 * SEEK_TO_FAILED reads again from the failed record on, a bounded number of times. A record that
 * always fails would otherwise be read for ever.
 */
function batchFailure(failure: FailureCase): Destination | undefined {
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

/** With PAUSE_PARTITION the order is worth a stop: the record then counts as one that had all its calls. */
function budgetExceeded({ failed, binding, classification }: FailureCase): Destination | undefined {
  const { retry, orderingMode, strictExhaustion } = binding;
  if (failed.reason !== 'budget-exceeded' || retry.onBudgetExceeded !== 'DLT') return undefined;
  if (classification.isExplicit) return undefined;
  if (orderingMode === 'STRICT' && strictExhaustion === 'PAUSE_PARTITION') return undefined;
  return { kind: 'dead-letter', reason: 'RETRIES_EXHAUSTED', cause: 'budget-exceeded' };
}

/** Poison skips the remaining tiers. A destination that the application has chosen itself still counts. */
function poison(failure: FailureCase): Destination | undefined {
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
  return failure.wasCalled && !failure.isOutage ? poison(failure) : undefined;
}
