import { createHash } from 'node:crypto';
import type { BrokerRecord } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import {
  DeadLetterRequestedException,
  DeserializationException,
} from '../../errors/handler-errors.js';
import { describeError, TEXT_LIMITS } from '../../errors/texts/describe-error.js';
import { limitedText } from '../../errors/texts/limited-text.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type { Failure } from '../../model/outcomes/failed-outcome.js';
import type {
  ErrorDescription,
  FailureReport,
  RememberedFailure,
} from '../../model/outcomes/failure-report.js';
import type { DeserializationFailure } from '../../model/records/dlt-record.js';
import { readRetryHistory, type RetryHistory } from '../../model/records/retry-history.js';
import { UNKNOWN_CLASS, type TierFailureRecord } from '../../model/records/tier-history.js';
import { isBadMessage, unwrapBatchError } from '../faults/bad-messages.js';

export interface FailureReportSource {
  readonly binding: Pick<ResolvedBinding, 'name' | 'groupId' | 'dlt'>;
  readonly delivery: Delivery;
  readonly failed: Failure;
  /** The tier of the delivery: 0 is the main topic. */
  readonly tier: number;
  readonly runtime: Pick<Runtime, 'now'>;
}

/** Replaces the fingerprint if the failures of a record had different fingerprints. */
export const VARIED = 'varied';

/**
 * Reports a failed delivery: the failure itself, the failures of earlier tiers according to the
 * record's headers, and earlier failures that the lane remembers. Calls `dlt.redact`, so it is
 * called once per failure.
 */
export function createFailureReport(source: FailureReportSource): FailureReport {
  const { binding, delivery, failed, tier, runtime } = source;
  const { record, history } = delivery;
  const earlier = readRetryHistory(record, tier);
  const error = unwrapBatchError(failed.error);
  const description = describeError(error, binding.dlt);
  const failedAt = runtime.now();
  const calls = history.calls + failed.attempts;
  return {
    binding: binding.name,
    groupId: binding.groupId,
    record,
    originalTopic: earlier.original.topic,
    originalPartition: earlier.original.partition,
    originalOffset: earlier.original.offset,
    originalTimestamp: earlier.originalTimestamp,
    originalTimestampType: earlier.originalTimestampType,
    tier,
    // Each write to the tier is a delivery. A redelivery on the same topic is not counted.
    delivery: tier === 0 ? history.failures + 1 : earlier.delivery,
    calls: failed.attempts,
    totalAttempts: earlier.totalAttempts + calls,
    firstFailureAt:
      earlier.firstFailureAt ??
      history.lastFailure?.firstFailureAt ??
      failed.firstFailedAt ??
      failedAt,
    failedAt,
    description,
    tierHistory: [
      ...earlier.tierHistory.map(limitedEntry),
      {
        tier,
        exceptionClass: description.className,
        exhaustedAt: failedAt,
        attempts: earlier.attemptsInTier + calls,
      },
    ].toSorted((one, other) => one.tier - other.tier),
    ...compareWithEarlier(source, error, description, earlier),
    replayCount: earlier.replayCount,
    replayId: earlier.replayId,
    ...(error instanceof DeserializationException && {
      deserialization: deserializationFailureOf(error, description, binding.dlt),
    }),
  };
}

/**
 * Returns the report of a failure whose write is repeated, with the present time. The error is not
 * described again.
 */
export function renewReport(
  report: RememberedFailure,
  record: BrokerRecord,
  runtime: Pick<Runtime, 'now'>,
): FailureReport {
  const failedAt = runtime.now();
  const tierHistory = report.tierHistory.map((entry) =>
    entry.tier === report.tier ? { ...entry, exhaustedAt: failedAt } : entry,
  );
  return { ...report, record, failedAt, tierHistory };
}

/**
 * Limits the class name, because any producer may have written the headers from which it was read.
 */
function limitedEntry(entry: TierFailureRecord): TierFailureRecord {
  return { ...entry, exceptionClass: limitedText(entry.exceptionClass, TEXT_LIMITS.className) };
}

/** Compares the failure with those in earlier topics, and with earlier ones on this topic. */
function compareWithEarlier(
  { delivery: { history }, failed }: FailureReportSource,
  error: Error,
  description: ErrorDescription,
  earlier: RetryHistory,
): Pick<FailureReport, 'fingerprint' | 'ownFingerprint' | 'isPoison'> {
  const fingerprint = fingerprintOf(description);
  const others = [earlier.fingerprint, history.lastFailure?.fingerprint];
  const hasVaried =
    failed.hasVaried === true ||
    others.some((other) => other !== undefined && other !== fingerprint);
  const knowsEarlierTopics = earlier.totalAttempts === 0 || earlier.fingerprint !== undefined;
  const knowsThisPlace = history.calls === 0 || history.lastFailure !== undefined;
  const totalAttempts = earlier.totalAttempts + history.calls + failed.attempts;
  const isAlwaysTheSame = knowsEarlierTopics && knowsThisPlace && !hasVaried && totalAttempts > 1;
  // A handler that dead-letters its record has not failed, so its record is no poison.
  const isGivenUp = error instanceof DeadLetterRequestedException;
  return {
    fingerprint: hasVaried ? VARIED : fingerprint,
    ownFingerprint: fingerprint,
    isPoison: isBadMessage(error) || (isAlwaysTheSame && !isGivenUp),
  };
}

/**
 * Returns a short hash that is the same for the same error, wherever it happens. It is computed
 * from the description, so it does not depend on redacted text.
 */
function fingerprintOf({ className, message = '' }: ErrorDescription): string {
  return createHash('sha256').update(`${className}\n${message}`).digest('hex').slice(0, 16);
}

/**
 * Describes why a record could not be deserialized. The reason is included only if the whole
 * message of the error may be written.
 */
function deserializationFailureOf(
  { part, format = UNKNOWN_CLASS, reason }: DeserializationException,
  { causeClassName = UNKNOWN_CLASS }: ErrorDescription,
  { exceptionDetail, redact }: ResolvedBinding['dlt'],
): DeserializationFailure {
  const isWritten = reason !== undefined && exceptionDetail === 'full' && redact === undefined;
  return {
    part,
    format: limitedText(format, TEXT_LIMITS.className),
    exceptionClass: causeClassName,
    ...(isWritten && { reason: limitedText(reason, TEXT_LIMITS.message) }),
  };
}
