import type { RecordHeader } from '@nest-event-bus/broker';
import type { HeaderProfileName } from '../../config/properties/dlt-properties.js';
import type { DltRecord } from '../../model/records/dlt-record.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import type { DeadLetterHop } from '../headers/header-profile.js';
import { HEADER_PROFILES, originalHeaders } from '../headers/header-profiles.js';

/**
 * Makes the dead letter that handlers and alerts get. Its bytes are copies: a listener that writes
 * into them changes nothing that goes to a topic.
 */
export function dltRecordOf(
  report: FailureReport,
  { reason, cause, at }: DeadLetterHop,
  profiles: readonly HeaderProfileName[],
): DltRecord {
  const { record, description } = report;
  const owners = profiles.map((name) => HEADER_PROFILES[name]);
  return {
    originalTopic: report.originalTopic,
    originalPartition: report.originalPartition,
    originalOffset: report.originalOffset,
    originalTimestamp: report.originalTimestamp,
    key: copied(record.key),
    value: copied(record.value),
    headers: originalHeaders(record.headers, owners).map(({ key, value }): RecordHeader => ({
      key,
      value: copied(value),
    })),
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
    fingerprint: report.fingerprint,
    isPoison: report.isPoison,
    ...(report.deserialization && { deserialization: report.deserialization }),
  };
}

function copied(bytes: Buffer | null): Buffer | null {
  return bytes && Buffer.from(bytes);
}
