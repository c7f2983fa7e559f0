import type { RecordHeader, TimestampType } from '@nest-event-bus/broker';
import { declareJsonForms } from './json-safe.js';
import { printedKey } from './record-key.js';
import type { TierFailureRecord } from './tier-history.js';

export const DLT_REASONS = ['RETRIES_EXHAUSTED', 'NON_RETRYABLE', 'MANUAL'] as const;

export type DltReason = (typeof DLT_REASONS)[number];

/** The exact cause of a dead letter. Several causes belong to the same reason. */
export const DLT_CAUSES = [
  'exhausted',
  'budget-exceeded',
  'poison',
  'batch-failure',
  'too-large-for-retry',
  'permanent-error',
  'routing',
  'deserialization',
  'validation',
  'unknown-type',
  'handler',
  'operator',
] as const;

export type DltCause = (typeof DLT_CAUSES)[number];

/**
 * Describes why a record could not be deserialized, without any of its bytes, which the record
 * itself contains.
 */
export interface DeserializationFailure {
  readonly part: 'key' | 'value';
  /** The expected format: `JSON`, `Avro`, or the name of a deserializer of the application. */
  readonly format: string;
  /** The class of the error that the deserializer threw. */
  readonly exceptionClass: string;
  /**
   * A text of this library. Messages of other libraries may quote the payload, so they are never
   * included.
   */
  readonly reason?: string;
}

/**
 * A dead letter with all known data. Offsets are bigint, so that they are always exact. Unknown
 * parts of the original position are -1. Other unknown values are undefined, zero, empty or
 * `unknown`.
 */
export interface DltRecord {
  readonly originalTopic: string;
  readonly originalPartition: number;
  readonly originalOffset: bigint;
  readonly originalTimestamp: number;
  /** Whose clock that time has; undefined if that is not known. */
  readonly originalTimestampType?: TimestampType | undefined;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** Headers of the record, without those that the bus has written. */
  readonly headers: readonly RecordHeader[];
  readonly dltReason: DltReason;
  readonly totalAttempts: number;
  readonly firstFailureTimestamp: number;
  readonly lastExceptionClass: string;
  readonly lastExceptionMessage: string;
  readonly tierHistory: readonly TierFailureRecord[];
  readonly lastExceptionStacktrace?: string;
  readonly dltCause?: DltCause;
  /** The time of the write to the dead-letter topic. */
  readonly dltTimestamp: number;
  /**
   * The binding that dead-lettered the record. Groups that read one topic share its dead-letter
   * topic.
   */
  readonly binding?: string;
  readonly groupId?: string;
  /** Number of earlier replays. */
  readonly replayCount: number;
  /** The last replay that the record went through; undefined if it was never replayed. */
  readonly replayId?: string;
  readonly fingerprint?: string;
  readonly isPoison: boolean;
  /** Present only if the record could not be deserialized (`dltCause: 'deserialization'`). */
  readonly deserialization?: DeserializationFailure;
  /**
   * Offsets are decimal text. Leaves out the payload and the values of the headers, because either may
   * be a secret.
   */
  toJSON(): Readonly<Record<string, unknown>>;
}

type DeadLetterProperties = Omit<DltRecord, 'toJSON'>;

/** Adds `toJSON` to the properties of a dead letter. */
export function createDltRecord(properties: DeadLetterProperties): DltRecord {
  return new DeadLetter(properties);
}

// The properties are assigned, so that each of them is listed once.
// oxlint-disable-next-line typescript/no-unsafe-declaration-merging
interface DeadLetter extends DeadLetterProperties {}

class DeadLetter implements DltRecord {
  constructor(properties: DeadLetterProperties) {
    Object.assign(this, properties);
  }

  toJSON(): Readonly<Record<string, unknown>> {
    const { value, ...properties } = this;
    return {
      ...properties,
      originalOffset: String(this.originalOffset),
      key: printedKey(this.key),
      valueBytes: value?.length ?? null,
      headers: headerNames(this.headers),
    };
  }
}

declareJsonForms(DeadLetter, {
  originalOffset: String,
  key: printedKey,
  value: () => undefined,
  headers: headerNames,
});

function headerNames(headers: readonly RecordHeader[]): readonly string[] {
  return headers.map(({ key }) => key);
}
