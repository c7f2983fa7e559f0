import type { DriverLogger } from '@nest-event-bus/broker';
import type { ErrorMatcher } from '../../config/error-matching/error-matcher.js';
import {
  guardedDistance,
  type GuardedDistance,
} from '../../config/error-matching/guarded-distance.js';
import type {
  ResolvedBinding,
  ResolvedExceptionRoute,
} from '../../config/resolving/resolved-binding.js';
import { RetryableResultException } from '../../errors/result-errors.js';
import { NonRetryableException, RetryableException } from '../../errors/retry-errors.js';
import type { FaultRule } from '../faults/fault.js';
import { ruleFor } from '../faults/fault-of.js';
import { isBadMessage, unwrapBatchError } from '../faults/bad-messages.js';
import { ExceptionRoutingDecision } from '../../model/outcomes/exception-routing-decision.js';
import { ExceptionRouting } from '../../model/outcomes/exception-routing.js';
import type { ExceptionClassifier } from '../../model/extension-points/handler-interfaces.js';

/** The destination of a failed record, and whether the application chose it. */
export interface Classification {
  readonly decision: ExceptionRoutingDecision;
  /** Chosen by the options, a classifier of the application or a handler's result. No rule of the library overrides that. */
  readonly isExplicit: boolean;
}

export type ClassifiedBinding = Pick<ResolvedBinding, 'name' | 'retry' | 'exceptionRouting'>;

/** Takes effect if one of its matchers is the closest match for the error. */
interface Entry extends Classification {
  readonly matchers: readonly ErrorMatcher[];
}

/** The tier for failures that will last, if the binding has that many tiers. */
const EXTENDED_TIER = 2;

const NEXT_TIER: Classification = byDefaultRule(ExceptionRoutingDecision.nextTier());
const DEAD_LETTER: Classification = byDefaultRule(ExceptionRoutingDecision.deadLetter());

/**
 * Checks in this order: `exceptionRouting`; messages that could not be read or validated; the lists
 * of `retry`, of which the closest match decides; the cause of the failure. One per binding, without
 * state.
 */
export class DefaultExceptionClassifier implements ExceptionClassifier {
  readonly #distance: GuardedDistance;
  readonly #routes: readonly Entry[];
  readonly #lists: readonly Entry[];
  readonly #extended: Classification;

  constructor({ name, retry, exceptionRouting }: ClassifiedBinding, logger: DriverLogger) {
    this.#distance = guardedDistance(name, logger);
    this.#routes = exceptionRouting.map((route) => explicitly([route.match], decisionOf(route)));
    this.#lists = listsOf(retry);
    this.#extended =
      retry.tiers.length < EXTENDED_TIER
        ? NEXT_TIER
        : byDefaultRule(ExceptionRoutingDecision.skipToTier(EXTENDED_TIER));
    Object.freeze(this);
  }

  /** Returns the same decision for every tier. The router makes sure that no record goes back to an earlier one. */
  classify(error: Error, _currentTier?: number): ExceptionRoutingDecision {
    return this.classification(error).decision;
  }

  classification(
    thrown: Error,
    faultRule = (): FaultRule | undefined => ruleFor(unwrapBatchError(thrown)),
  ): Classification {
    const error = unwrapBatchError(thrown);
    const route = this.#closest(this.#routes, error);
    if (route) return route;
    if (isBadMessage(error)) return DEAD_LETTER;
    return this.#closest(this.#lists, error) ?? this.#byFault(faultRule());
  }

  /** Prefers the first of several equally close entries. */
  #closest(entries: readonly Entry[], error: Error): Entry | undefined {
    let closest: Entry | undefined;
    let least = Infinity;
    for (const entry of entries) {
      const distance = this.#distance(entry.matchers, error) ?? Infinity;
      if (distance >= least) continue;
      least = distance;
      closest = entry;
    }
    return closest;
  }

  #byFault(rule: FaultRule | undefined): Classification {
    if (rule?.fault === 'message') return DEAD_LETTER;
    return rule?.isExtended ? this.#extended : NEXT_TIER;
  }
}

/**
 * Adds the library's own classes to the lists. RetryableException chooses no destination: with a
 * circuit breaker, a timeout may still wait for the circuit. A RetryableResult does choose one, "the
 * next retry topic".
 */
function listsOf(retry: ResolvedBinding['retry']): readonly Entry[] {
  const skips = retry.skipToTierMapping.map(({ match, tier }) =>
    explicitly([match], ExceptionRoutingDecision.skipToTier(tier)),
  );
  return [
    explicitly([...retry.nonRetryableExceptions, NonRetryableException], DEAD_LETTER.decision),
    ...skips,
    explicitly([RetryableResultException], NEXT_TIER.decision),
    { matchers: [...retry.retryableExceptions, RetryableException], ...NEXT_TIER },
  ];
}

function decisionOf({ routing, tier }: ResolvedExceptionRoute): ExceptionRoutingDecision {
  switch (routing) {
    case ExceptionRouting.NEXT_TIER:
      return ExceptionRoutingDecision.nextTier();
    case ExceptionRouting.SKIP_TO_TIER:
      // Validation guarantees the tier.
      return ExceptionRoutingDecision.skipToTier(tier!);
    case ExceptionRouting.DEAD_LETTER:
      return ExceptionRoutingDecision.deadLetter();
    case ExceptionRouting.PAUSE_CONTAINER:
      return ExceptionRoutingDecision.pauseContainer();
  }
}

function byDefaultRule(decision: ExceptionRoutingDecision): Classification {
  return Object.freeze({ decision, isExplicit: false });
}

function explicitly(matchers: readonly ErrorMatcher[], decision: ExceptionRoutingDecision): Entry {
  return Object.freeze({ matchers, decision, isExplicit: true });
}
