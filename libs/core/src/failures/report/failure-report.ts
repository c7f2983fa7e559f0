import type { BrokerRecord } from '@nest-event-bus/broker';
import type { DeserializationFailure } from '../../model/records/dlt-record.js';
import type { TierFailureRecord } from '../../model/records/tier-failure-record.js';
import type { ErrorDescription } from './error-description.js';

/** All that is told of a record that failed, wherever it goes next. The same for every header profile. */
export interface FailureReport {
  readonly binding: string;
  readonly groupId: string;
  /** As it was received: its key, value and headers go on byte for byte. */
  readonly record: BrokerRecord;
  readonly originalTopic: string;
  readonly originalPartition: number;
  readonly originalOffset: bigint;
  /** Milliseconds since 1970, as are the others. */
  readonly originalTimestamp: number;
  /** Where it failed: 0 is the main topic. */
  readonly tier: number;
  /** Within the tier, from 1. */
  readonly delivery: number;
  /** Calls of the handler over all tiers. */
  readonly totalAttempts: number;
  readonly firstFailureAt: number;
  readonly failedAt: number;
  /** What may be told of the error, and no more of it than that. */
  readonly description: ErrorDescription;
  /** In the order of the tiers; the last is the one where it failed, whether it leaves it now or not. */
  readonly tierHistory: readonly TierFailureRecord[];
  /** Of the error; `varied` when an earlier call failed in another way. */
  readonly fingerprint: string;
  /** It failed in the same way on every call, or no call can ever help. */
  readonly isPoison: boolean;
  readonly replayCount: number;
  /** Only where the record could not be read. */
  readonly deserialization?: DeserializationFailure;
}
