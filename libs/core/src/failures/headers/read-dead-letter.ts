import type { BrokerRecord } from '@nest-event-bus/broker';
import { createDltRecord, type DltRecord } from '../../model/records/dlt-record.js';
import { LetterFacts } from './letter-facts.js';

/**
 * Reads a dead letter of any profile. Numbers may be text or Spring's bytes. If several profiles
 * are present, the bus's own has priority over Spring's, and Spring's over the plain one. Headers
 * may be missing or damaged: the function never throws.
 */
export function readDeadLetter(record: BrokerRecord): DltRecord {
  const facts = new LetterFacts(record);
  return createDltRecord({
    originalTopic: facts.originalTopic,
    originalPartition: facts.originalPartition,
    originalOffset: facts.originalOffset,
    originalTimestamp: facts.originalTimestamp,
    originalTimestampType: facts.originalTimestampType,
    key: facts.key,
    value: facts.value,
    headers: facts.headers,
    dltReason: facts.dltReason,
    dltCause: facts.dltCause,
    dltTimestamp: facts.dltTimestamp,
    totalAttempts: facts.totalAttempts,
    firstFailureTimestamp: facts.firstFailureTimestamp,
    lastExceptionClass: facts.lastExceptionClass,
    lastExceptionMessage: facts.lastExceptionMessage,
    lastExceptionStacktrace: facts.lastExceptionStacktrace,
    tierHistory: facts.tierHistory,
    binding: facts.binding,
    groupId: facts.groupId,
    replayCount: facts.replayCount,
    replayId: facts.replayId,
    fingerprint: facts.fingerprint,
    isPoison: facts.isPoison,
    ...(facts.deserialization && { deserialization: facts.deserialization }),
  });
}
