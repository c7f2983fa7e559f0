import type {
  AssignedPartition,
  CommittedOffset,
  OffsetCommit,
  PositionReset,
} from '../../../port/consumer.js';
import type { OwnedPartition } from '../fetching/owned-partition.js';

/** A partition that is assigned but not yet announced to the listener. */
export interface PendingAssignment {
  readonly partition: OwnedPartition;
  readonly committed: CommittedOffset | null;
  reset?: PositionReset;
}

export function toAssignedPartition({
  partition: owned,
  committed,
}: PendingAssignment): AssignedPartition {
  return {
    topic: owned.topic,
    partition: owned.partition,
    position: owned.position,
    committed,
  };
}

/**
 * Returns the start offset if it has to be committed. Without the commit, a crash would resolve the
 * start anew, and the records written in between would be skipped.
 */
export function startOffsetToCommit({
  partition: owned,
  reset,
}: PendingAssignment): OffsetCommit | undefined {
  if (!reset || owned.commitCount > 0 || owned.position < 0) return undefined;
  if (reset.reason !== 'new-partition' && reset.policy !== 'latest') return undefined;
  const { topic, partition, position: offset, trail } = owned;
  return { topic, partition, offset, leaderEpoch: trail.last };
}
