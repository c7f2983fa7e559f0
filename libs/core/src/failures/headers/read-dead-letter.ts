import type { BrokerRecord, RecordHeader } from '@nest-event-bus/broker';
import {
  createDltRecord,
  DLT_CAUSES,
  DLT_REASONS,
  type DltRecord,
} from '../../model/records/dlt-record.js';
import { EVENTBUS_HEADERS } from '../../model/records/event-bus-headers.js';
import { headerCount, headerInteger } from '../../model/records/header-number.js';
import { headerText } from '../../model/records/header-text.js';
import { headerTimestampType } from '../../model/records/header-timestamp-type.js';
import {
  EVENTBUS_POSITION,
  headerPosition,
  type OriginalPosition,
} from '../../model/records/original-position.js';
import { readTierHistory, UNKNOWN_CLASS } from '../../model/records/tier-history.js';
import { HEADER_PROFILES, splitHeaders } from './header-profiles.js';
import { PLAIN_HEADERS } from './plain-profile.js';
import { SPRING_HEADERS } from './spring-profile.js';

const SPRING_POSITION = {
  topic: SPRING_HEADERS.originalTopic,
  partition: SPRING_HEADERS.originalPartition,
  offset: SPRING_HEADERS.originalOffset,
};

/**
 * Reads a dead letter of any profile. Numbers may be text or Spring's bytes. If several profiles
 * are present, the bus's own has priority over Spring's, and Spring's over the plain one. Headers
 * may be missing or damaged: the function never throws.
 */
export function readDeadLetter(record: BrokerRecord): DltRecord {
  const { timestamp } = record;
  const { original: receivedHeaders, written: headers } = splitHeaders(record.headers, [
    HEADER_PROFILES.spring,
    HEADER_PROFILES.plain,
  ]);
  const names = EVENTBUS_HEADERS;
  const text = (...keys: readonly string[]): string | undefined => firstText(headers, keys);
  const count = (...keys: readonly string[]): number | undefined =>
    first(keys, (key) => headerCount(headers, key));
  const original = originalOf(record, headers);
  const dltTimestamp = count(names.dltTimestamp) ?? timestamp;
  const tierHistory = readTierHistory(headers, dltTimestamp);
  return createDltRecord({
    originalTopic: original.topic,
    originalPartition: original.partition,
    originalOffset: original.offset,
    originalTimestamp:
      count(names.originalTimestamp, SPRING_HEADERS.originalTimestamp) ?? timestamp,
    originalTimestampType:
      headerTimestampType(headers, names.originalTimestampType) ??
      headerTimestampType(headers, SPRING_HEADERS.originalTimestampType),
    key: record.key,
    value: record.value,
    headers: receivedHeaders,
    dltReason: oneOf(DLT_REASONS, text(names.dltReason)) ?? 'RETRIES_EXHAUSTED',
    dltCause: oneOf(DLT_CAUSES, text(names.dltCause)),
    dltTimestamp,
    totalAttempts: count(names.totalAttempts) ?? attemptsOf(headers, tierHistory),
    firstFailureTimestamp:
      count(names.firstFailureTimestamp) ?? failureTime(headers) ?? dltTimestamp,
    lastExceptionClass:
      text(names.lastExceptionClass, SPRING_HEADERS.exceptionFqcn, PLAIN_HEADERS.exceptionClass) ??
      UNKNOWN_CLASS,
    lastExceptionMessage:
      text(
        names.lastExceptionMessage,
        SPRING_HEADERS.exceptionMessage,
        PLAIN_HEADERS.exceptionMessage,
      ) ?? '',
    lastExceptionStacktrace: text(
      names.lastExceptionStacktrace,
      SPRING_HEADERS.exceptionStacktrace,
    ),
    tierHistory,
    binding: text(names.bindingName),
    groupId: text(names.groupId, SPRING_HEADERS.originalConsumerGroup),
    replayCount: count(names.replayCount) ?? 0,
    replayId: text(names.replayId),
    fingerprint: text(names.fingerprint),
    isPoison: text(names.poison) === 'true',
    ...deserializationOf(headers),
  });
}

function deserializationOf(headers: readonly RecordHeader[]): Pick<DltRecord, 'deserialization'> {
  const names = EVENTBUS_HEADERS;
  const text = (name: string): string | undefined => headerText(headers, name) || undefined;
  const format = text(names.deserializationFormat);
  if (format === undefined) return {};
  const exceptionClass = text(names.deserializationExceptionClass) ?? UNKNOWN_CLASS;
  const reason = text(names.deserializationReason);
  const part = text(names.deserializationPart) === 'key' ? 'key' : 'value';
  return { deserialization: { part, format, exceptionClass, reason } };
}

/**
 * Returns the original position. Parts of different positions would identify another record, so an
 * unknown part is -1. If no header has any part, the position is that of the dead letter.
 */
function originalOf(
  { topic, partition, offset }: BrokerRecord,
  headers: readonly RecordHeader[],
): OriginalPosition {
  const whole =
    headerPosition(headers, EVENTBUS_POSITION) ?? headerPosition(headers, SPRING_POSITION);
  if (whole) return whole;
  const originalTopic = firstText(headers, [
    EVENTBUS_POSITION.topic,
    SPRING_POSITION.topic,
    PLAIN_HEADERS.originalTopic,
  ]);
  return originalTopic === undefined
    ? { topic, partition, offset: BigInt(offset) }
    : { topic: originalTopic, partition: -1, offset: -1n };
}

function attemptsOf(
  headers: readonly RecordHeader[],
  tierHistory: DltRecord['tierHistory'],
): number {
  if (tierHistory.length > 0) return tierHistory.reduce((sum, { attempts }) => sum + attempts, 0);
  const retries = headerCount(headers, PLAIN_HEADERS.retryCount);
  return retries === undefined ? 0 : retries + 1;
}

/**
 * Returns the time of the failure. The plain profile writes ISO 8601, and other producers write
 * milliseconds.
 */
function failureTime(headers: readonly RecordHeader[]): number | undefined {
  const milliseconds = headerInteger(headers, PLAIN_HEADERS.failureTimestamp);
  if (milliseconds !== undefined) return headerCount(headers, PLAIN_HEADERS.failureTimestamp);
  const parsed = Date.parse(headerText(headers, PLAIN_HEADERS.failureTimestamp) ?? '');
  return parsed >= 0 ? parsed : undefined;
}

function firstText(headers: readonly RecordHeader[], keys: readonly string[]): string | undefined {
  return first(keys, (key) => headerText(headers, key) || undefined);
}

function first<T>(keys: readonly string[], read: (key: string) => T | undefined): T | undefined {
  for (const key of keys) {
    const value = read(key);
    if (value !== undefined) return value;
  }
  return undefined;
}

function oneOf<T extends string>(known: readonly T[], text: string | undefined): T | undefined {
  return known.find((each) => each === text);
}
