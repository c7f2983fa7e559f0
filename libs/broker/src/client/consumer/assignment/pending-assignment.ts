import type {
  AssignedPartition,
  CommittedOffset,
  OffsetCommit,
  PositionReset,
} from '../../../port/consumer.js';
import type { OwnedPartition } from '../fetching/owned-partition.js';

/** A partition on its way in. */
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
 * Where it starts, if that has to be kept: were it looked for again, after a crash, what was
 * written meanwhile would be passed over.
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
