import type { OffsetCommit } from '../../port/consumer.js';
import { CommitError, InvalidOptionError } from '../../port/errors.js';
import { isSamePartition } from '../../port/topic-partition.js';
import type { OffsetCommitter } from '../group/index.js';
import type { OwnedPartitions } from './assignment/owned-partitions.js';

/**
 * Commits offsets with the leader epoch of the record before each of them, by which the next owner
 * recognises that the log was truncated after the commit. Counts the commits of each owned
 * partition, without those that were not stored.
 */
export async function commitOwned(
  offsets: readonly OffsetCommit[],
  ownership: OwnedPartitions,
  committer: OffsetCommitter,
): Promise<void> {
  for (const { topic, partition, offset } of offsets)
    if (!Number.isSafeInteger(offset) || offset < 0)
      throw new InvalidOptionError(
        `Offset ${offset} cannot be committed for ${topic}/${partition}: it must be 0 or more.`,
      );
  const owned = offsets.map((commit) => ownership.get(commit));
  const commits = offsets.map((commit, index) => {
    const leaderEpoch = owned[index]?.trail.epochBefore(commit.offset);
    return { leaderEpoch, ...commit };
  });
  for (const partition of owned) if (partition) partition.commitCount++;
  try {
    await committer.commit(commits);
  } catch (error) {
    // An error without a list of partitions means that none was stored.
    const failed = error instanceof CommitError ? error.partitions : offsets;
    for (const partition of owned)
      if (partition && failed.some((each) => isSamePartition(each, partition)))
        partition.commitCount--;
    throw error;
  }
}
