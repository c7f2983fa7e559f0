import type { OffsetCommit } from '../../port/consumer.js';
import { CommitError, FencedError, InvalidOptionError } from '../../port/errors.js';
import type { TopicPartition } from '../../port/record.js';
import type { OffsetCommitter } from '../group/index.js';
import type { Ownership } from './ownership.js';

/**
 * A broker stores whatever a current member commits, also for partitions of another member, so
 * the guard is here. What is ours is committed even where the rest is refused.
 */
export async function commitOwned(
  offsets: readonly OffsetCommit[],
  ownership: Ownership,
  committer: OffsetCommitter,
): Promise<void> {
  for (const { topic, partition, offset } of offsets)
    if (!Number.isSafeInteger(offset) || offset < 0)
      throw new InvalidOptionError(
        `Offset ${offset} cannot be committed for ${topic}/${partition}: it must be 0 or more.`,
      );
  const ours = offsets.filter((commit) => ownership.get(commit) !== undefined);
  const foreign = offsets.filter((commit) => !ours.includes(commit));
  for (const commit of ours) ownership.get(commit)!.isCommitted = true;
  let failure: unknown;
  if (ours.length > 0) {
    await committer.commit(ours).catch((error: unknown) => {
      failure = error;
    });
  }
  if (foreign.length === 0) {
    if (failure !== undefined) throw failure;
    return;
  }
  const lost = [...foreign, ...notStored(failure, ours)];
  const names = lost.map(({ topic, partition }) => `${topic}/${partition}`).join(', ');
  throw new FencedError(
    lost.map(({ topic, partition }) => ({ topic, partition })),
    `Not committed: ${names} is not assigned to this session (any more). Whoever owns it now decides its offset.`,
    { cause: failure },
  );
}

/** A failure that names no partitions stored none: what is not named counts as stored. */
function notStored(failure: unknown, sent: readonly OffsetCommit[]): readonly TopicPartition[] {
  if (failure === undefined) return [];
  return failure instanceof CommitError ? failure.partitions : sent;
}
