import type { BrokerRecord, TimestampType } from '@nest-event-bus/broker';
import type { DeserializationFailure } from '../records/dlt-record.js';
import type { TierFailureRecord } from '../records/tier-history.js';

/** The part of an error that may leave the process. */
export interface ErrorDescription {
  readonly className: string;
  /**
   * The class of the error's cause. The message of a cause is never written, because a parser
   * quotes the payload in it.
   */
  readonly causeClassName?: string;
  /**
   * Message of the error. Absent with `exceptionDetail: 'class'`, as is the stack, whose first line
   * contains the message.
   */
  readonly message?: string;
  readonly stack?: string;
  /** True if `redact` threw or returned no text. Then only the class is written. */
  readonly isRedactionBroken?: boolean;
}

/**
 * Everything that is written about a failed record. The headers of every header profile (`spring`,
 * `eventbus`, …) are created from this report.
 */
export interface FailureReport {
  readonly binding: string;
  readonly groupId: string;
  /** The record as it was received. Its key, value and headers are written byte for byte. */
  readonly record: BrokerRecord;
  readonly originalTopic: string;
  readonly originalPartition: number;
  readonly originalOffset: bigint;
  /** Milliseconds since 1970, as are the other times. */
  readonly originalTimestamp: number;
  /** Whose clock that time has; undefined if that is not known. */
  readonly originalTimestampType?: TimestampType | undefined;
  /** The tier in which the record failed: 0 is the main topic. */
  readonly tier: number;
  /** Number of this delivery within its tier; the first one is 1. */
  readonly delivery: number;
  /** Handler calls in this delivery. */
  readonly calls: number;
  /** Handler calls over all tiers. */
  readonly totalAttempts: number;
  readonly firstFailureAt: number;
  readonly failedAt: number;
  /** The error, as far as `dlt.exceptionDetail` and `dlt.redact` allow. */
  readonly description: ErrorDescription;
  /**
   * Failures per tier, in the order of the tiers. The last entry is the tier in which the record
   * failed, even if it stays there.
   */
  readonly tierHistory: readonly TierFailureRecord[];
  /** Identifies the error; `varied` if an earlier call failed in another way. */
  readonly fingerprint: string;
  /** Identifies the error of this failure, whatever the earlier ones were. */
  readonly ownFingerprint: string;
  /** True if every call failed in the same way, or if no call can ever help. */
  readonly isPoison: boolean;
  readonly replayCount: number;
  /** The replay that the record belongs to; undefined if it was never replayed. */
  readonly replayId?: string | undefined;
  /** Present only if the record could not be deserialized. */
  readonly deserialization?: DeserializationFailure;
}

/**
 * A report that is kept until the next delivery. It has no bytes of the record, because they are
 * read again.
 */
export type RememberedFailure = Omit<FailureReport, 'record'>;
