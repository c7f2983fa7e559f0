import type { OffsetCommit } from '../../port/consumer.js';
import { CommitError, FencedError, InvalidOptionError } from '../../port/errors.js';
import type { TopicPartition } from '../../port/record.js';
import { isSamePartition } from '../../port/topic-partition.js';
import type { OffsetCommitter } from '../group/index.js';
import type { OwnedPartition } from './fetching/owned-partition.js';
import type { OwnedPartitions } from './assignment/owned-partitions.js';

/**
 * Commits the offsets of owned partitions and rejects for all others. A broker stores whatever a
 * current member commits, even for partitions of another member, so the client has to check the
 * ownership. The offsets of owned partitions are committed even if other partitions are refused.
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
  const owned = new Map(offsets.map((commit) => [commit, ownership.get(commit)]));
  const assigned = offsets.filter((commit) => owned.get(commit));
  const unassigned = offsets.filter((commit) => !owned.get(commit));
  let failure: unknown;
  if (assigned.length > 0) {
    for (const commit of assigned) owned.get(commit)!.commitCount++;
    const withEpochs = assigned.map((commit) => withEpoch(commit, owned.get(commit)!));
    await committer.commit(withEpochs).catch((error: unknown) => {
      failure = error;
    });
    const failed = notStored(failure, assigned);
    for (const commit of assigned)
      if (failed.some((each) => isSamePartition(each, commit))) owned.get(commit)!.commitCount--;
  }
  if (unassigned.length === 0) {
    if (failure !== undefined) throw failure;
    return;
  }
  const notCommitted = [...unassigned, ...notStored(failure, assigned)];
  const names = notCommitted.map(({ topic, partition }) => `${topic}/${partition}`).join(', ');
  throw new FencedError(
    notCommitted.map(({ topic, partition }) => ({ topic, partition })),
    `Not committed: ${names} is not assigned to this session (any more). Its current owner decides its offset.`,
    { cause: failure },
  );
}

/**
 * Adds the leader epoch to a commit, by which the next owner recognises that the log was truncated
 * after the commit.
 */
function withEpoch(commit: OffsetCommit, { trail }: OwnedPartition): OffsetCommit {
  return { leaderEpoch: trail.epochBefore(commit.offset), ...commit };
}

/**
 * Returns the partitions that were not stored. An error that lists partitions means that all others
 * were stored; an error without a list means that none was.
 */
function notStored(failure: unknown, sent: readonly OffsetCommit[]): readonly TopicPartition[] {
  if (failure === undefined) return [];
  return failure instanceof CommitError ? failure.partitions : sent;
}
