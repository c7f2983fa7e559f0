import type { RecordHeader } from '@nest-event-bus/broker';
import type { TierFailureRecord } from './tier-failure-record.js';

export type DltReason = 'RETRIES_EXHAUSTED' | 'NON_RETRYABLE' | 'MANUAL';

/** A dead letter with its whole story. Offsets are bigint: exact, whatever the topic grows to. */
export interface DltRecord {
  readonly originalTopic: string;
  readonly originalPartition: number;
  readonly originalOffset: bigint;
  readonly originalTimestamp: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly RecordHeader[];
  readonly dltReason: DltReason;
  readonly totalAttempts: number;
  readonly firstFailureTimestamp: number;
  readonly lastExceptionClass: string;
  readonly lastExceptionMessage: string;
  readonly tierHistory: readonly TierFailureRecord[];
}
