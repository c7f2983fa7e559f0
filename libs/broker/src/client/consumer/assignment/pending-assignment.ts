import type {
  AssignedPartition,
  CommittedOffset,
  OffsetCommit,
  PositionReset,
} from '../../../port/consumer.js';
import type { OwnedPartition } from '../fetching/owned-partition.js';

/** A partition that is assigned but not yet passed to `onAssigned`. */
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
 * Returns the start offset if it must be committed. If the session crashed without this commit, the
 * next lookup would find another start position and skip the records written in between.
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
