import type { BrokerRecord, RecordHeader, TimestampType } from '@nest-event-bus/broker';
import {
  DLT_CAUSES,
  DLT_REASONS,
  type DltCause,
  type DltReason,
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
import { HEADER_PROFILES, splitHeaders, type SplitHeaders } from './header-profiles.js';
import { PLAIN_HEADERS } from './plain-profile.js';
import { SPRING_HEADERS } from './spring-profile.js';

const SPRING_POSITION = {
  topic: SPRING_HEADERS.originalTopic,
  partition: SPRING_HEADERS.originalPartition,
  offset: SPRING_HEADERS.originalOffset,
};
const ASSUMED_PROFILES = [HEADER_PROFILES.spring, HEADER_PROFILES.plain];
const NAMES = EVENTBUS_HEADERS;

/**
 * What the headers of a dead letter say, in any profile. Each fact is read when it is asked for, so
 * that counting a million letters does not read a million stack traces. Headers may be missing or
 * damaged: no fact ever throws.
 */
export class LetterFacts implements Omit<DltRecord, 'toJSON'> {
  #split: SplitHeaders | undefined;
  #original: OriginalPosition | undefined;
  #tiers: DltRecord['tierHistory'] | undefined;
  #group: { readonly id: string | undefined } | undefined;

  constructor(private readonly record: BrokerRecord) {}

  get key(): Buffer | null {
    return this.record.key;
  }

  get value(): Buffer | null {
    return this.record.value;
  }

  get headers(): readonly RecordHeader[] {
    return this.#headers.original;
  }

  get originalTopic(): string {
    return this.#position.topic;
  }

  get originalPartition(): number {
    return this.#position.partition;
  }

  get originalOffset(): bigint {
    return this.#position.offset;
  }

  get originalTimestamp(): number {
    return (
      this.#count(NAMES.originalTimestamp, SPRING_HEADERS.originalTimestamp) ??
      this.record.timestamp
    );
  }

  get originalTimestampType(): TimestampType | undefined {
    const { written } = this.#headers;
    return (
      headerTimestampType(written, NAMES.originalTimestampType) ??
      headerTimestampType(written, SPRING_HEADERS.originalTimestampType)
    );
  }

  get dltReason(): DltReason {
    return oneOf(DLT_REASONS, this.#text(NAMES.dltReason)) ?? 'RETRIES_EXHAUSTED';
  }

  get dltCause(): DltCause | undefined {
    return oneOf(DLT_CAUSES, this.#text(NAMES.dltCause));
  }

  get dltTimestamp(): number {
    return this.#count(NAMES.dltTimestamp) ?? this.record.timestamp;
  }

  get totalAttempts(): number {
    return this.#count(NAMES.totalAttempts) ?? this.#attempts();
  }

  get firstFailureTimestamp(): number {
    return (
      this.#count(NAMES.firstFailureTimestamp) ??
      failureTime(this.#headers.written) ??
      this.dltTimestamp
    );
  }

  get lastExceptionClass(): string {
    return (
      this.#text(
        NAMES.lastExceptionClass,
        SPRING_HEADERS.exceptionFqcn,
        PLAIN_HEADERS.exceptionClass,
      ) ?? UNKNOWN_CLASS
    );
  }

  get lastExceptionMessage(): string {
    return (
      this.#text(
        NAMES.lastExceptionMessage,
        SPRING_HEADERS.exceptionMessage,
        PLAIN_HEADERS.exceptionMessage,
      ) ?? ''
    );
  }

  get lastExceptionStacktrace(): string | undefined {
    return this.#text(NAMES.lastExceptionStacktrace, SPRING_HEADERS.exceptionStacktrace);
  }

  get tierHistory(): DltRecord['tierHistory'] {
    return (this.#tiers ??= readTierHistory(this.#headers.written, this.dltTimestamp));
  }

  get binding(): string | undefined {
    return this.#text(NAMES.bindingName);
  }

  get groupId(): string | undefined {
    this.#group ??= { id: this.#text(NAMES.groupId, SPRING_HEADERS.originalConsumerGroup) };
    return this.#group.id;
  }

  get replayCount(): number {
    return this.#count(NAMES.replayCount) ?? 0;
  }

  get replayId(): string | undefined {
    return this.#text(NAMES.replayId);
  }

  get fingerprint(): string | undefined {
    return this.#text(NAMES.fingerprint);
  }

  get isPoison(): boolean {
    return this.#text(NAMES.poison) === 'true';
  }

  get deserialization(): DltRecord['deserialization'] {
    const format = this.#text(NAMES.deserializationFormat);
    if (format === undefined) return undefined;
    const exceptionClass = this.#text(NAMES.deserializationExceptionClass) ?? UNKNOWN_CLASS;
    const reason = this.#text(NAMES.deserializationReason);
    const part = this.#text(NAMES.deserializationPart) === 'key' ? 'key' : 'value';
    return { part, format, exceptionClass, reason };
  }

  get #headers(): SplitHeaders {
    return (this.#split ??= splitHeaders(this.record.headers, ASSUMED_PROFILES));
  }

  get #position(): OriginalPosition {
    return (this.#original ??= positionOf(this.record, this.#headers.written));
  }

  #text(...names: readonly string[]): string | undefined {
    const { written } = this.#headers;
    return first(names, (name) => headerText(written, name) || undefined);
  }

  #count(...names: readonly string[]): number | undefined {
    const { written } = this.#headers;
    return first(names, (name) => headerCount(written, name));
  }

  #attempts(): number {
    const { tierHistory } = this;
    if (tierHistory.length > 0) return tierHistory.reduce((sum, { attempts }) => sum + attempts, 0);
    const retries = headerCount(this.#headers.written, PLAIN_HEADERS.retryCount);
    return retries === undefined ? 0 : retries + 1;
  }
}

/**
 * Returns the original position. Parts of different positions would identify another record, so an
 * unknown part is -1. If no header has any part, the position is that of the dead letter.
 */
function positionOf(
  { topic, partition, offset }: BrokerRecord,
  headers: readonly RecordHeader[],
): OriginalPosition {
  const whole =
    headerPosition(headers, EVENTBUS_POSITION) ?? headerPosition(headers, SPRING_POSITION);
  if (whole) return whole;
  const names = [EVENTBUS_POSITION.topic, SPRING_POSITION.topic, PLAIN_HEADERS.originalTopic];
  const originalTopic = first(names, (name) => headerText(headers, name) || undefined);
  return originalTopic === undefined
    ? { topic, partition, offset: BigInt(offset) }
    : { topic: originalTopic, partition: -1, offset: -1n };
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
