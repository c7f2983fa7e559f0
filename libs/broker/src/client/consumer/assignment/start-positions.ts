import type { CommittedOffset, OffsetReset } from '../../../port/consumer.js';
import { NoOffsetError } from '../../../port/errors.js';
import type { OwnedPartition } from '../fetching/owned-partition.js';
import type { ResetPositions, StartPosition } from './reset-positions.js';

export interface StartPositionsOptions {
  readonly policy: OffsetReset;
  readonly resets: ResetPositions;
  /** Returns whether the partition was added after the group had started. */
  isNew(partition: OwnedPartition): boolean;
}

/**
 * Determines where reading starts: at the committed offset or, if that offset is missing or not in
 * the log, where the reset policy says.
 */
export class StartPositions {
  constructor(private readonly options: StartPositionsOptions) {}

  async resolve(
    partition: OwnedPartition,
    committed: CommittedOffset | null,
    signal: AbortSignal,
  ): Promise<StartPosition> {
    if (committed)
      return { kind: 'at', offset: committed.offset, leaderEpoch: committed.leaderEpoch };
    const { policy, resets } = this.options;
    if (policy !== 'earliest' && this.options.isNew(partition))
      return resets.resetTo('earliest', partition, { from: null, reason: 'new-partition' }, signal);
    if (policy === 'none') return { kind: 'stopped', error: noOffsetError(partition) };
    return resets.resetTo(policy, partition, { from: null, reason: 'no-offset' }, signal);
  }
}

function noOffsetError({ topic, partition }: OwnedPartition): NoOffsetError {
  return new NoOffsetError(
    topic,
    partition,
    -1,
    `The group has no committed offset for partition ${partition} of "${topic}", and offsetReset is 'none'. Commit one for the group, seek, or choose 'earliest' or 'latest'.`,
  );
}
