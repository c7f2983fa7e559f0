import type { RecordHeader } from '@nest-event-bus/broker';
import type { HeaderProfileName } from '../../config/properties/dlt-properties.js';
import type { DltRecord } from '../../model/records/dlt-record.js';
import type { FailureStory } from './failure-report.js';
import type { DeadLetterHop } from '../headers/header-profile.js';
import { HEADER_PROFILES, originalHeaders } from '../headers/header-profiles.js';

/**
 * The dead letter that a story comes to, for those who are told of it. Its bytes are its own: what
 * a listener writes into them changes nothing that goes to a topic.
 */
export function dltRecordOf(
  story: FailureStory,
  { reason, cause, at }: DeadLetterHop,
  profiles: readonly HeaderProfileName[],
): DltRecord {
  const { record, description } = story;
  const owners = profiles.map((name) => HEADER_PROFILES[name]);
  return {
    originalTopic: story.originalTopic,
    originalPartition: story.originalPartition,
    originalOffset: story.originalOffset,
    originalTimestamp: story.originalTimestamp,
    key: copied(record.key),
    value: copied(record.value),
    headers: originalHeaders(record.headers, owners).map(({ key, value }): RecordHeader => ({
      key,
      value: copied(value),
    })),
    dltReason: reason,
    dltCause: cause,
    dltTimestamp: at,
    totalAttempts: story.totalAttempts,
    firstFailureTimestamp: story.firstFailureAt,
    lastExceptionClass: description.className,
    lastExceptionMessage: description.message ?? '',
    lastExceptionStacktrace: description.stack,
    tierHistory: story.tierHistory,
    binding: story.binding,
    groupId: story.groupId,
    replayCount: story.replayCount,
    fingerprint: story.fingerprint,
    isPoison: story.isPoison,
    ...(story.deserialization && { deserialization: story.deserialization }),
  };
}

function copied(bytes: Buffer | null): Buffer | null {
  return bytes && Buffer.from(bytes);
}
