import type { HeaderProfileName } from '../../config/properties/dlt-properties.js';
import { copyBytes, copyHeader } from '../../model/records/copy-header.js';
import { createDltRecord, type DltRecord } from '../../model/records/dlt-record.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import type { DeadLetterHop } from '../headers/header-profile.js';
import { HEADER_PROFILES, originalHeadersOf } from '../headers/header-profiles.js';

/**
 * Creates the dead letter for handlers and alerts. Its bytes are copies, so that a listener cannot
 * change the record that is written.
 */
export function dltRecordOf(
  report: FailureReport,
  { reason, cause, at }: DeadLetterHop,
  profiles: readonly HeaderProfileName[],
): DltRecord {
  const { record, description } = report;
  const owners = profiles.map((name) => HEADER_PROFILES[name]);
  return createDltRecord({
    originalTopic: report.originalTopic,
    originalPartition: report.originalPartition,
    originalOffset: report.originalOffset,
    originalTimestamp: report.originalTimestamp,
    originalTimestampType: report.originalTimestampType,
    key: copyBytes(record.key),
    value: copyBytes(record.value),
    headers: originalHeadersOf(report, owners).map(copyHeader),
    dltReason: reason,
    dltCause: cause,
    dltTimestamp: at,
    totalAttempts: report.totalAttempts,
    firstFailureTimestamp: report.firstFailureAt,
    lastExceptionClass: description.className,
    lastExceptionMessage: description.message ?? '',
    lastExceptionStacktrace: description.stack,
    tierHistory: report.tierHistory,
    binding: report.binding,
    groupId: report.groupId,
    replayCount: report.replayCount,
    replayId: report.replayId,
    fingerprint: report.fingerprint,
    isPoison: report.isPoison,
    ...(report.deserialization && { deserialization: report.deserialization }),
  });
}
