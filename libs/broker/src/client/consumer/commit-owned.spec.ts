import type { OffsetCommit } from '../../port/consumer.js';
import { CommitRefusedError, ConnectionError, FencedError } from '../../port/errors.js';
import type { TopicPartition } from '../../port/record.js';
import type { OffsetCommitter } from '../group/index.js';
import { commitOwned } from './commit-owned.js';
import { OwnedPartition } from './fetching/owned-partition.js';
import type { OwnedPartitions } from './assignment/owned-partitions.js';

const owned = (): OwnedPartition[] => [0, 1].map((each) => new OwnedPartition('t', each, null));

const withPartitions = (partitions: readonly OwnedPartition[]): OwnedPartitions =>
  ({ get: ({ partition }: TopicPartition) => partitions[partition] }) as unknown as OwnedPartitions;

const ownedPartitions = withPartitions(owned());

const committing = (answer: () => Promise<void>): OffsetCommitter =>
  ({ commit: answer }) as unknown as OffsetCommitter;

const offsets = [0, 1, 2].map((partition) => ({ topic: 't', partition, offset: 5 }));

describe('commitOwned with a partition of another member', () => {
  it.each([
    ['the owned partitions are stored', undefined, [2]],
    [
      'one owned partition is refused',
      new CommitRefusedError([{ topic: 't', partition: 1 }], 'not now', true),
      [2, 1],
    ],
    ['the error lists no partitions, so none was stored', new ConnectionError('odd'), [2, 0, 1]],
  ])('lists every partition whose offset was not stored: %s', async (_, failure, named) => {
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

describe('commitOwned with owned partitions', () => {
  const committed = offsets.slice(0, 2);

  it('adds the leader epoch of the records that this member read, unless the caller passes one', async () => {
    const partitions = owned();
    partitions[0]?.trail.startAt(3, 7);
    const sent: OffsetCommit[] = [];
    const committer = {
      commit: (commits: readonly OffsetCommit[]) => {
        sent.push(...commits);
        return Promise.resolve();
      },
    } as unknown as OffsetCommitter;
    await commitOwned(committed, withPartitions(partitions), committer);
    await commitOwned(
      [{ ...committed[0]!, leaderEpoch: 9 }],
      withPartitions(partitions),
      committer,
    );
    expect(sent.map(({ leaderEpoch }) => leaderEpoch)).toEqual([7, -1, 9]);
  });

  it('counts a commit as soon as it is sent, and no longer once it is refused', async () => {
    const partitions = owned();
    const counts = (): number[] => partitions.map(({ commitCount: commits }) => commits);
    const refusal = new CommitRefusedError([{ topic: 't', partition: 1 }], 'not now', true);
    const counted: number[][] = [];
    const committer = committing(() => {
      counted.push(counts());
      return Promise.reject(refusal);
    });
    await expect(commitOwned(committed, withPartitions(partitions), committer)).rejects.toBe(
      refusal,
    );
    expect([counted, counts()]).toEqual([[[1, 1]], [1, 0]]);
  });
});
