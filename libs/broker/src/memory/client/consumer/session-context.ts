import type { OffsetCommit } from '../../../port/consumer.js';
import type { PartitionError } from '../../../port/errors.js';
import type { Notifier } from '../notifier.js';
import type { OwnedPartition } from './owned-partition.js';
import type { Ownership } from './ownership.js';
import type { ConsumerStatus } from './consumer-status.js';

/** The objects that the parts of one session share. */
export interface SessionContext {
  readonly ownership: Ownership;
  readonly status: ConsumerStatus;
  /** Notifies when records arrived, or when other records are wanted. */
  readonly notifier: Notifier;
  /** Ends a waiting fetch that does not contain a newly wanted position. */
  wake(): void;
  /** Commits start positions; never rejects. */
  commitStarts(starts: readonly OffsetCommit[]): Promise<void>;
  /** Stops a partition until a seek, and calls `onStopped`. */
  stop(partition: OwnedPartition, error: PartitionError): void;
  /** Handles a position that is not in the log, as `offsetReset` defines. */
  outOfRange(partition: OwnedPartition): void;
  /** Handles a log that was truncated below the position and is the same up to `end` only. */
  truncated(partition: OwnedPartition, end: number): void;
  /** Handles a topic that was deleted or recreated. */
  topicChanged(partition: OwnedPartition): void;
  /** Ends the session after a permanent error. */
  fail(error: Error): void;
  /** Waits; ends early, without throwing, when the signal aborts. */
  delay(milliseconds: number, signal: AbortSignal): Promise<void>;
}
