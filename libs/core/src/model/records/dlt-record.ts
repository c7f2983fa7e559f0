import type { RecordHeader } from '@nest-event-bus/broker';
import type { TierFailureRecord } from './tier-history.js';

export const DLT_REASONS = ['RETRIES_EXHAUSTED', 'NON_RETRYABLE', 'MANUAL'] as const;

export type DltReason = (typeof DLT_REASONS)[number];

/** What exactly led to it; several causes share a reason. */
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

/** Why a record could not be read. None of its bytes are in here: the record itself has them. */
export interface DeserializationFailure {
  readonly part: 'value';
  /** What it was expected to be: `JSON`, `Avro`, or the name of a deserializer of the application. */
  readonly format: string;
  /** Of what the deserializer threw. */
  readonly exceptionClass: string;
  /** In words of the library's own; what others say may quote the payload, and is not told. */
  readonly reason?: string;
}

/**
 * A dead letter with its whole story. Offsets are bigint: exact, whatever the topic grows to. What
 * nobody has told of it is -1 where it is a part of the original position, and otherwise undefined,
 * zero, empty or `unknown`.
 */
export interface DltRecord {
  readonly originalTopic: string;
  readonly originalPartition: number;
  readonly originalOffset: bigint;
  readonly originalTimestamp: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** Those that the record came with, without what the bus has written. */
  readonly headers: readonly RecordHeader[];
  readonly dltReason: DltReason;
  readonly totalAttempts: number;
  readonly firstFailureTimestamp: number;
  readonly lastExceptionClass: string;
  readonly lastExceptionMessage: string;
  readonly tierHistory: readonly TierFailureRecord[];
  readonly lastExceptionStacktrace?: string;
  readonly dltCause?: DltCause;
  /** When it was written to its dead-letter topic. */
  readonly dltTimestamp: number;
  /** Whose it is: groups that read one topic share its dead-letter topic. */
  readonly binding?: string;
  readonly groupId?: string;
  /** How often it was replayed before. */
  readonly replayCount: number;
  readonly fingerprint?: string;
  readonly isPoison: boolean;
  /** Only where the record could not be read (`dltCause: 'deserialization'`). */
  readonly deserialization?: DeserializationFailure;
}
