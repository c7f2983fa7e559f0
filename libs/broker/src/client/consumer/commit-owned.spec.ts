import type { OffsetCommit } from '../../port/consumer.js';
import { CommitRefusedError, ConnectionError, FencedError } from '../../port/errors.js';
import type { TopicPartition } from '../../port/record.js';
import type { OffsetCommitter } from '../group/index.js';
import { commitOwned } from './commit-owned.js';
import { OwnedPartition } from './fetching/owned-partition.js';
import type { OwnedPartitions } from './assignment/owned-partitions.js';

const owned = (): OwnedPartition[] => [0, 1].map((each) => new OwnedPartition('t', each, null));

const ownershipOf = (partitions: readonly OwnedPartition[]): OwnedPartitions =>
  ({ get: ({ partition }: TopicPartition) => partitions[partition] }) as unknown as OwnedPartitions;

const ownedPartitions = ownershipOf(owned());

const committing = (answer: () => Promise<void>): OffsetCommitter =>
  ({ commit: answer }) as unknown as OffsetCommitter;

const offsets = [0, 1, 2].map((partition) => ({ topic: 't', partition, offset: 5 }));

describe('a commit that has a partition of somebody else', () => {
  it.each([
    ['what is ours is stored', undefined, [2]],
    [
      'one of ours is refused',
      new CommitRefusedError([{ topic: 't', partition: 1 }], 'not now', true),
      [2, 1],
    ],
    ['the failure names none: none was stored', new ConnectionError('odd'), [2, 0, 1]],
  ])('names all that is not stored: %s', async (_, failure, named) => {
    const answer = () => (failure ? Promise.reject(failure) : Promise.resolve());
    const error = await commitOwned(offsets, ownedPartitions, committing(answer)).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(FencedError);
    const { partitions, cause } = error as FencedError;
    expect(partitions.map(({ partition }) => partition)).toEqual(named);
    expect(cause).toBe(failure);
  });
});

describe('a commit of what is ours', () => {
  const ours = offsets.slice(0, 2);

  it('says by which leader it was written, as far as that was read here and nobody says it', async () => {
    const partitions = owned();
    partitions[0]?.trail.startAt(3, 7);
    const sent: OffsetCommit[] = [];
    const committer = {
      commit: (commits: readonly OffsetCommit[]) => {
        sent.push(...commits);
        return Promise.resolve();
      },
    } as unknown as OffsetCommitter;
    await commitOwned(ours, ownershipOf(partitions), committer);
    await commitOwned([{ ...ours[0]!, leaderEpoch: 9 }], ownershipOf(partitions), committer);
    expect(sent.map(({ leaderEpoch }) => leaderEpoch)).toEqual([7, -1, 9]);
  });

  it('counts while it is under way and when it is stored, and not once it was refused', async () => {
    const partitions = owned();
    const counts = (): number[] => partitions.map(({ commitCount: commits }) => commits);
    const refusal = new CommitRefusedError([{ topic: 't', partition: 1 }], 'not now', true);
    const seen: number[][] = [];
    const committer = committing(() => {
      seen.push(counts());
      return Promise.reject(refusal);
    });
    await expect(commitOwned(ours, ownershipOf(partitions), committer)).rejects.toBe(refusal);
    expect([seen, counts()]).toEqual([[[1, 1]], [1, 0]]);
  });
});
