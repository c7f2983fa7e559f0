import type { RecordHeader } from '@nest-event-bus/broker';
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
  readonly part: 'value';
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
  readonly fingerprint?: string;
  readonly isPoison: boolean;
  /** Present only if the record could not be deserialized (`dltCause: 'deserialization'`). */
  readonly deserialization?: DeserializationFailure;
}
