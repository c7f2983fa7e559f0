import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding } from '../config/resolved-binding.js';
import {
  BatchProcessingException,
  DeadLetterRequestedException,
  DeserializationException,
  PayloadValidationException,
} from '../errors/handler-errors.js';
import type { Delivery } from '../model/delivery.js';
import type { FailedOutcome } from '../model/outcome.js';
import { readTrail, type RetryTrail } from '../model/retry-trail.js';
import { describeError } from './error-description.js';
import type { FailureStory } from './failure-story.js';
import { fingerprintOf, VARIED } from './fingerprint.js';

export interface StorySource {
  readonly binding: Pick<ResolvedBinding, 'name' | 'groupId' | 'dlt'>;
  readonly delivery: Delivery;
  readonly failed: FailedOutcome;
  /** Where the delivery came from: 0 is the main topic. */
  readonly tier: number;
  readonly runtime: Pick<Runtime, 'now'>;
}

/** What is to be told of a delivery that failed: its own part, and what the record's headers say of the ones before. */
export function tellStory({ binding, delivery, failed, tier, runtime }: StorySource): FailureStory {
  const { record } = delivery;
  const trail = readTrail(record, tier);
  const error = meantError(failed.error);
  const description = describeError(error, binding.dlt);
  const failedAt = runtime.now();
  const attempts = attemptsOf(delivery, failed);
  return {
    binding: binding.name,
    groupId: binding.groupId,
    record,
    originalTopic: trail.original.topic,
    originalPartition: trail.original.partition,
    originalOffset: trail.original.offset,
    originalTimestamp: trail.originalTimestamp,
    tier,
    delivery: deliveryInTier(delivery, trail),
    totalAttempts: trail.totalAttempts + attempts,
    firstFailureAt: trail.firstFailureAt ?? failedAt,
    failedAt,
    error,
    description,
    tierHistory: [
      ...trail.tierHistory,
      {
        tier,
        exceptionClass: description.className,
        exhaustedAt: failedAt,
        attempts: trail.attemptsInTier + attempts,
      },
    ].toSorted((one, other) => one.tier - other.tier),
    ...likeness(failed, fingerprintOf(description), trail, attempts),
    replayCount: trail.replayCount,
  };
}

/** The delivery within its tier, from 1. In a tier each hop is one; what stays in its place there is no new one. */
export function deliveryInTier(
  { failures, redeliveries }: Delivery,
  { tier, delivery }: Pick<RetryTrail, 'tier' | 'delivery'>,
): number {
  return tier === 0 ? (failures ?? redeliveries) + 1 : delivery;
}

/** As intake counts: a record that could not be prepared for a call was tried once all the same. */
function attemptsOf(
  { redeliveries, failures = redeliveries, calls = failures }: Delivery,
  { attempts = 1 }: FailedOutcome,
): number {
  return calls + attempts;
}

/**
 * Whether it failed as it did before. Of the deliveries that came again in their place, only the
 * last is known.
 */
function likeness(
  failed: FailedOutcome,
  fingerprint: string,
  trail: RetryTrail,
  attempts: number,
): Pick<FailureStory, 'fingerprint' | 'isPoison'> {
  const isAnother = trail.fingerprint !== undefined && trail.fingerprint !== fingerprint;
  const hasVaried = isAnother || failed.hasVaried === true;
  const isKnown = trail.totalAttempts === 0 || trail.fingerprint !== undefined;
  const isAlwaysTheSame = isKnown && !hasVaried && trail.totalAttempts + attempts > 1;
  const error = meantError(failed.error);
  return {
    fingerprint: hasVaried ? VARIED : fingerprint,
    isPoison: isBadMessage(error) || (isAlwaysTheSame && !isGivenUp(error)),
  };
}

/** Somebody's decision is no way in which calls failed. */
function isGivenUp(error: Error): boolean {
  return error instanceof DeadLetterRequestedException;
}

function isBadMessage(error: Error): boolean {
  return error instanceof DeserializationException || error instanceof PayloadValidationException;
}

/** What a handler of batches wraps to say where it stopped is no error of its own. */
function meantError(error: Error): Error {
  return error instanceof BatchProcessingException && error.cause instanceof Error
    ? error.cause
    : error;
}
