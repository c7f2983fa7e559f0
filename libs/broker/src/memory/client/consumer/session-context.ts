import type { OffsetCommit } from '../../../port/consumer.js';
import type { PartitionError } from '../../../port/errors.js';
import type { Notifier } from '../notifier.js';
import type { OwnedPartition } from './owned-partition.js';
import type { Ownership } from './ownership.js';
import type { ConsumerStatus } from './consumer-status.js';

/** What the rooms of one session share. */
export interface SessionContext {
  readonly ownership: Ownership;
  readonly status: ConsumerStatus;
  /** Rings when records arrived, or when what is wanted has changed. */
  readonly notifier: Notifier;
  /** What is wanted has changed: a fetch that waits for something else is answered now. */
  wake(): void;
  /** Commits where partitions start; never rejects. */
  commitStarts(starts: readonly OffsetCommit[]): Promise<void>;
  /** The partition cannot go on: it waits for a seek, and the listener is told. */
  stop(partition: OwnedPartition, error: PartitionError): void;
  /** The position is not in the log: the policy decides. */
  outOfRange(partition: OwnedPartition): void;
  /** The log was cut back behind the position, and agrees with what was read up to `end` only. */
  truncated(partition: OwnedPartition, end: number): void;
  /** The topic is not what it was: deleted, or another one of the same name. */
  topicChanged(partition: OwnedPartition): void;
  /** Nothing can mend this: the session ends. */
  fail(error: Error): void;
  /** Waits; ends early, without throwing, when the session does. */
  delay(milliseconds: number, signal: AbortSignal): Promise<void>;
}
