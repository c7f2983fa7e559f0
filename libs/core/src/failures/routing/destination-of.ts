import type { ResolvedBinding, ResolvedTier } from '../../config/resolving/resolved-binding.js';
import {
  DeserializationException,
  PayloadValidationException,
  UnknownEventTypeException,
} from '../../errors/handler-errors.js';
import {
  PAUSE_BINDING,
  PAUSE_PARTITION,
  type DeadLetterDestination,
  type Destination,
  type RetryDestination,
} from '../../model/outcomes/destination.js';
import type { DltCause } from '../../model/records/dlt-record.js';
import type { ExceptionRoutingDecision } from '../../model/outcomes/exception-routing-decision.js';
import { ExceptionRouting } from '../../model/outcomes/exception-routing.js';
import type { Failure } from '../../model/outcomes/failed-outcome.js';

/** The delivery that failed; tier 0 is the main topic. */
export interface FailurePoint {
  readonly tier: number;
  /** The delivery within the tier, from 1. */
  readonly delivery: number;
}

type Routes = Pick<ResolvedBinding, 'retry' | 'orderingMode' | 'strictExhaustion'>;

/** Turns a decision into a destination: a skip never repeats a tier, missing tiers are passed over, and there is an end. */
export function destinationOf(
  { routing, targetTier }: ExceptionRoutingDecision,
  failed: Failure,
  place: FailurePoint,
  binding: Routes,
): Destination {
  // A message that cannot be read never blocks its partition, whatever the decision about other errors is.
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

function deadLetterNow({ error, reason }: Failure): DeadLetterDestination {
  return { kind: 'dead-letter', reason: 'NON_RETRYABLE', cause: permanentCause(error, reason) };
}

function permanentCause(error: Error, reason: Failure['reason']): DltCause {
  if (error instanceof DeserializationException) return 'deserialization';
  if (error instanceof PayloadValidationException) return 'validation';
  if (error instanceof UnknownEventTypeException) return 'unknown-type';
  return reason === 'bad-message' ? 'permanent-error' : 'routing';
}

/** Forward only: a record that an error sends to the tier where it is would stay there for ever. */
function skippedTo(wanted: number, place: FailurePoint, binding: Routes): Destination {
  const tier = binding.retry.tiers[Math.min(wanted, binding.retry.tiers.length) - 1];
  return tier && tier.number > place.tier ? retryIn(tier, 1) : nextDestination(place, binding);
}

/** The same tier for as long as it grants deliveries, then the next tier, then the end. */
function nextDestination(
  { tier, delivery }: FailurePoint,
  { retry, orderingMode, strictExhaustion }: Routes,
): Destination {
  const here = retry.tiers[tier - 1];
  if (here && delivery < here.maxAttempts) return retryIn(here, delivery + 1);
  const next = retry.tiers[tier];
  if (next) return retryIn(next, 1);
  return orderingMode === 'STRICT' && strictExhaustion === 'PAUSE_PARTITION'
    ? PAUSE_PARTITION
    : { kind: 'dead-letter', reason: 'RETRIES_EXHAUSTED', cause: 'exhausted' };
}

function retryIn({ number, topic }: ResolvedTier, delivery: number): RetryDestination {
  return { kind: 'retry', tier: number, topic, delivery };
}
