import type { BrokerRecord } from '@nest-event-bus/broker';
import type { DeserializationFailure } from '../records/dlt-record.js';
import type { TierFailureRecord } from '../records/tier-history.js';

/** The part of an error that may leave the process. */
export interface ErrorDescription {
  readonly className: string;
  /** The class of its cause. The message of a cause is never written: a parser quotes the payload there. */
  readonly causeClassName?: string;
  /** Absent with `exceptionDetail: 'class'`, as is the stack, whose first line has the message. */
  readonly message?: string;
  readonly stack?: string;
  /** `redact` threw or returned something else than a text: only the class is written then. */
  readonly isRedactionBroken?: boolean;
}

/** Everything that is written about a failed record, wherever it goes next. All header profiles are made of it. */
export interface FailureReport {
  readonly binding: string;
  readonly groupId: string;
  /** The record as it was received: its key, value and headers are written byte for byte. */
  readonly record: BrokerRecord;
  readonly originalTopic: string;
  readonly originalPartition: number;
  readonly originalOffset: bigint;
  /** Milliseconds since 1970, as are the other times. */
  readonly originalTimestamp: number;
  /** The tier in which the record failed: 0 is the main topic. */
  readonly tier: number;
  /** The delivery within the tier, from 1. */
  readonly delivery: number;
  /** Handler calls over all tiers. */
  readonly totalAttempts: number;
  readonly firstFailureAt: number;
  readonly failedAt: number;
  /** The error, as far as `dlt.exceptionDetail` and `dlt.redact` allow. */
  readonly description: ErrorDescription;
  /** Entries in the order of the tiers. The last is the tier where the record failed, whether it leaves it now or not. */
  readonly tierHistory: readonly TierFailureRecord[];
  /** Identifies the error; `varied` if an earlier call failed in another way. */
  readonly fingerprint: string;
  /** Every call failed in the same way, or no call can ever help. */
  readonly isPoison: boolean;
  readonly replayCount: number;
  /** Present only if the record could not be read. */
  readonly deserialization?: DeserializationFailure;
}

/** A report that outlives its delivery. The bytes of the record are read again with the next one. */
export type RememberedFailure = Omit<FailureReport, 'record'>;
