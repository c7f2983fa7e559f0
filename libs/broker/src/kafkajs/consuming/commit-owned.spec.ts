import { CommitRefusedError, ConnectionError, FencedError } from '../../port/errors.js';
import type { TopicPartition } from '../../port/record.js';
import type { OffsetCommitter } from '../group/index.js';
import { commitOwned } from './commit-owned.js';
import type { Ownership } from './ownership.js';

const ownership = {
  get: ({ partition }: TopicPartition) => (partition < 2 ? {} : undefined),
} as unknown as Ownership;

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
    const error = await commitOwned(offsets, ownership, committing(answer)).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(FencedError);
    const { partitions, cause } = error as FencedError;
    expect(partitions.map(({ partition }) => partition)).toEqual(named);
    expect(cause).toBe(failure);
  });
});
