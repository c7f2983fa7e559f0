import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import {
  DeadLetterRequestedException,
  DeserializationException,
} from '../../errors/handler-errors.js';
import { isBadMessage, unwrapBatchError } from '../faults/bad-messages.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type { FailedOutcome } from '../../model/outcomes/outcome.js';
import { readRetryHistory, type RetryHistory } from '../../model/records/retry-trail.js';
import type { TierFailureRecord } from '../../model/records/tier-failure-record.js';
import { deserializationFailureOf } from './deserialization-failure.js';
import { describeError, TEXT_LIMITS } from './error-description.js';
import type { FailureReport } from './failure-report.js';
import { fingerprintOf, VARIED } from './fingerprint.js';
import { limitedText } from './limited-text.js';

export interface FailureReportSource {
  readonly binding: Pick<ResolvedBinding, 'name' | 'groupId' | 'dlt'>;
  readonly delivery: Delivery;
  readonly failed: FailedOutcome;
  /** Where the delivery came from: 0 is the main topic. */
  readonly tier: number;
  readonly runtime: Pick<Runtime, 'now'>;
}

/** What is to be told of a delivery that failed: its own part, and what the record's headers say of the ones before. */
export function createFailureReport({
  binding,
  delivery,
  failed,
  tier,
  runtime,
}: FailureReportSource): FailureReport {
  const { record } = delivery;
  const trail = readRetryHistory(record, tier);
  const error = unwrapBatchError(failed.error);
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
    firstFailureAt:
      trail.firstFailureAt ?? delivery.failureSummary?.since ?? failed.failedSince ?? failedAt,
    failedAt,
    description,
    tierHistory: [
      ...trail.tierHistory.map(limitedEntry),
      {
        tier,
        exceptionClass: description.className,
        exhaustedAt: failedAt,
        attempts: trail.attemptsInTier + attempts,
      },
    ].toSorted((one, other) => one.tier - other.tier),
    ...compareWithEarlier({
      error,
      failed,
      fingerprint: fingerprintOf(description),
      trail,
      delivery,
    }),
    replayCount: trail.replayCount,
    ...(error instanceof DeserializationException && {
      deserialization: deserializationFailureOf(error, binding.dlt),
    }),
  };
}

/** Whoever wrote it into the headers. */
function limitedEntry(entry: TierFailureRecord): TierFailureRecord {
  return { ...entry, exceptionClass: limitedText(entry.exceptionClass, TEXT_LIMITS.className) };
}

/** The delivery within its tier, from 1. In a tier each hop is one; what stays in its place there is no new one. */
export function deliveryInTier(
  { failures, redeliveries }: Delivery,
  { tier, delivery }: Pick<RetryHistory, 'tier' | 'delivery'>,
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

interface Likeness {
  readonly error: Error;
  readonly failed: FailedOutcome;
  readonly fingerprint: string;
  readonly trail: RetryHistory;
  readonly delivery: Delivery;
}

/** Whether it failed as it did before: in the topics behind it, and in its place. */
function compareWithEarlier({
  error,
  failed,
  fingerprint,
  trail,
  delivery,
}: Likeness): Pick<FailureReport, 'fingerprint' | 'isPoison'> {
  const { failureSummary: failedBefore } = delivery;
  const calls = attemptsOf(delivery, failed);
  const before = [trail.fingerprint, failedBefore?.fingerprint];
  const isAnother = before.some((one) => one !== undefined && one !== fingerprint);
  const hasVaried = isAnother || failed.hasVaried === true;
  const isKnownOfTopics = trail.totalAttempts === 0 || trail.fingerprint !== undefined;
  const isKnownOfPlace = calls === (failed.attempts ?? 1) || failedBefore !== undefined;
  const isAlwaysTheSame =
    isKnownOfTopics && isKnownOfPlace && !hasVaried && trail.totalAttempts + calls > 1;
  return {
    fingerprint: hasVaried ? VARIED : fingerprint,
    isPoison: isBadMessage(error) || (isAlwaysTheSame && !isGivenUp(error)),
  };
}

/** Somebody's decision is no way in which calls failed. */
function isGivenUp(error: Error): boolean {
  return error instanceof DeadLetterRequestedException;
}
