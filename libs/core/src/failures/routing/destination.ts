import type { ResolvedBinding, ResolvedTier } from '../../config/resolving/resolved-binding.js';
import {
  DeserializationException,
  PayloadValidationException,
  UnknownEventTypeException,
} from '../../errors/handler-errors.js';
import type { DltCause, DltReason } from '../../model/records/dlt-record.js';
import type { ExceptionRoutingDecision } from '../../model/outcomes/exception-routing-decision.js';
import { ExceptionRouting } from '../../model/outcomes/exception-routing.js';
import type { FailedOutcome } from '../../model/outcomes/outcome.js';

/** Where a record goes that failed for good in this delivery. */
export type Destination =
  | { readonly kind: 'retry'; readonly tier: ResolvedTier; readonly delivery: number }
  | DeadLetter
  | { readonly kind: 'pause-partition' }
  | { readonly kind: 'pause-binding' };

export interface DeadLetter {
  readonly kind: 'dead-letter';
  readonly reason: DltReason;
  readonly cause: DltCause;
}

/** Where it failed: tier 0 is the main topic. */
export interface FailurePoint {
  readonly tier: number;
  /** Within the tier, from 1. */
  readonly delivery: number;
}

type Routes = Pick<ResolvedBinding, 'retry' | 'orderingMode' | 'strictExhaustion'>;

const PAUSE_PARTITION: Destination = Object.freeze({ kind: 'pause-partition' });
const PAUSE_BINDING: Destination = Object.freeze({ kind: 'pause-binding' });

/** What the decision comes to at this place: no tier twice by a skip, none that is not there, and an end. */
export function destinationOf(
  { routing, targetTier }: ExceptionRoutingDecision,
  failed: FailedOutcome,
  place: FailurePoint,
  binding: Routes,
): Destination {
  // A message that cannot be read never blocks its partition, whatever is said about others.
  if (failed.error instanceof DeserializationException) return deadLetterNow(failed);
  switch (routing) {
    case ExceptionRouting.DEAD_LETTER:
      return deadLetterNow(failed);
    case ExceptionRouting.PAUSE_CONTAINER:
      return PAUSE_BINDING;
    case ExceptionRouting.SKIP_TO_TIER:
      return skippedTo(targetTier, place, binding);
    case ExceptionRouting.NEXT_TIER:
      return nextDestination(place, binding);
  }
}

function deadLetterNow({ error, ending }: FailedOutcome): DeadLetter {
  return { kind: 'dead-letter', reason: 'NON_RETRYABLE', cause: permanentCause(error, ending) };
}

function permanentCause(error: Error, ending: FailedOutcome['ending']): DltCause {
  if (error instanceof DeserializationException) return 'deserialization';
  if (error instanceof PayloadValidationException) return 'validation';
  if (error instanceof UnknownEventTypeException) return 'unknown-type';
  return ending === 'permanent' ? 'permanent-error' : 'routing';
}

/** Forward only: a record that an error sends to the tier where it is would stay there for ever. */
function skippedTo(wanted: number, place: FailurePoint, binding: Routes): Destination {
  const tier = binding.retry.tiers[Math.min(wanted, binding.retry.tiers.length) - 1];
  return tier && tier.number > place.tier
    ? { kind: 'retry', tier, delivery: 1 }
    : nextDestination(place, binding);
}

/** The same tier for as long as it grants deliveries, then the one behind it, then the end. */
function nextDestination(
  { tier, delivery }: FailurePoint,
  { retry, ...binding }: Routes,
): Destination {
  const here = retry.tiers[tier - 1];
  if (here && delivery < here.maxAttempts)
    return { kind: 'retry', tier: here, delivery: delivery + 1 };
  const behind = retry.tiers[tier];
  if (behind) return { kind: 'retry', tier: behind, delivery: 1 };
  return binding.orderingMode === 'STRICT' && binding.strictExhaustion === 'PAUSE_PARTITION'
    ? PAUSE_PARTITION
    : { kind: 'dead-letter', reason: 'RETRIES_EXHAUSTED', cause: 'exhausted' };
}
