import type { OffsetCommit } from '../../port/consumer.js';
import { CommitRefusedError, ConnectionError } from '../../port/errors.js';
import type { TopicPartition } from '../../port/record.js';
import type { OffsetCommitter } from '../group/index.js';
import { commitOwned } from './commit-owned.js';
import { OwnedPartition } from './fetching/owned-partition.js';
import type { OwnedPartitions } from './assignment/owned-partitions.js';

const owned = (): OwnedPartition[] => [0, 1].map((each) => new OwnedPartition('t', each, null));

const withPartitions = (partitions: readonly OwnedPartition[]): OwnedPartitions =>
  ({ get: ({ partition }: TopicPartition) => partitions[partition] }) as unknown as OwnedPartitions;

const committing = (answer: () => Promise<void>): OffsetCommitter =>
  ({ commit: answer }) as unknown as OffsetCommitter;

const offsets = [0, 1, 2].map((partition) => ({ topic: 't', partition, offset: 5 }));

describe('commitOwned', () => {
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

  it('counts no commit after an error without a list of partitions, because none was stored', async () => {
    const partitions = owned();
    const error = new ConnectionError('odd');
    const committer = committing(() => Promise.reject(error));
    await expect(commitOwned(offsets, withPartitions(partitions), committer)).rejects.toBe(error);
    expect(partitions.map(({ commitCount }) => commitCount)).toEqual([0, 0]);
  });
});
