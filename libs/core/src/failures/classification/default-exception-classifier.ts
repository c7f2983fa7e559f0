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
import { DEAD_LETTER, defaultRouting, NEXT_TIER, type Classification } from './default-routing.js';
import { isBadMessage, unwrapBatchError } from '../faults/bad-messages.js';
import { ExceptionRoutingDecision } from '../../model/outcomes/exception-routing-decision.js';
import { ExceptionRouting } from '../../model/outcomes/exception-routing.js';
import type { ExceptionClassifier } from '../../model/extension-points/handler-interfaces.js';

export type ClassifiedBinding = Pick<
  ResolvedBinding,
  'name' | 'retry' | 'exceptionRouting' | 'dlt'
>;

/**
 * A list entry with its decision. Of all entries, the one with the closest match for the error
 * applies.
 */
interface Entry extends Classification {
  readonly matchers: readonly ErrorMatcher[];
}

/**
 * Decides in this order: 1. `exceptionRouting`. 2. Messages that could not be read or validated. 3.
 * The exception lists of `retry`, of which the closest match decides. 4. The fault that caused the
 * failure. One instance per binding, without state.
 */
export class DefaultExceptionClassifier implements ExceptionClassifier {
  readonly #distance: GuardedDistance;
  readonly #routes: readonly Entry[];
  readonly #lists: readonly Entry[];
  readonly #tiers: number;

  constructor(binding: ClassifiedBinding, logger: DriverLogger) {
    const { retry, exceptionRouting } = binding;
    this.#distance = guardedDistance(binding, logger);
    this.#routes = exceptionRouting.map((route) => explicitly([route.match], decisionOf(route)));
    this.#lists = listsOf(retry);
    this.#tiers = retry.tiers.length;
    Object.freeze(this);
  }

  /**
   * Returns the same decision for every tier. The router makes sure that no record goes back to an
   * earlier tier.
   */
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
    return this.#closest(this.#lists, error) ?? defaultRouting(faultRule(), this.#tiers);
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
}

/**
 * Returns the exception lists of `retry`, with the library's own classes. RetryableException
 * chooses no destination: if it is caused by a dependency, the record may still wait for the
 * circuit. A RetryableResult does choose one, the next retry topic.
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
      // The validation of the options guarantees that the tier is defined.
      return ExceptionRoutingDecision.skipToTier(tier!);
    case ExceptionRouting.DEAD_LETTER:
      return ExceptionRoutingDecision.deadLetter();
    case ExceptionRouting.PAUSE_CONTAINER:
      return ExceptionRoutingDecision.pauseContainer();
  }
}

function explicitly(matchers: readonly ErrorMatcher[], decision: ExceptionRoutingDecision): Entry {
  return Object.freeze({ matchers, decision, isExplicit: true });
}
