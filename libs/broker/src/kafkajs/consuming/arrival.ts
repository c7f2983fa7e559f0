import type { AssignedPartition, CommittedOffset, PositionReset } from '../../port/consumer.js';
import type { OwnedPartition } from './owned-partition.js';

/** A partition on its way in. */
export interface Arrival {
  readonly partition: OwnedPartition;
  readonly committed: CommittedOffset | null;
  reset?: PositionReset;
}

export function assignedOf({ partition: owned, committed }: Arrival): AssignedPartition {
  return {
    topic: owned.topic,
    partition: owned.partition,
    position: owned.position,
    committed,
  };
}
