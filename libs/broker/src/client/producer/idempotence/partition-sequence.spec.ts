import { PartitionSequence } from './partition-sequence.js';

const identity = (producerId: bigint, producerEpoch = 0) => ({ producerId, producerEpoch });

describe('the sequence of a partition', () => {
  it('has no stamp before it has an identity', () => {
    const sequence = new PartitionSequence();
    expect([sequence.isBegun, sequence.stamp]).toEqual([false, undefined]);
    sequence.restart();
    sequence.renounce();
    expect(sequence.accepts(identity(7n))).toBe(true);
  });

  it('starts at 0 and counts what is written, not what is tried', () => {
    const sequence = new PartitionSequence();
    sequence.begin(identity(7n));
    expect(sequence.stamp).toEqual({ producerId: 7n, producerEpoch: 0, baseSequence: 0 });
    expect(sequence.stamp?.baseSequence).toBe(0);
    sequence.written(3);
    sequence.written(2);
    expect(sequence.stamp?.baseSequence).toBe(5);
  });

  it('goes from the largest 32-bit number on to 0', () => {
    const sequence = new PartitionSequence();
    sequence.begin(identity(7n));
    sequence.written(2 ** 31 - 2);
    sequence.written(5);
    expect(sequence.stamp?.baseSequence).toBe(3);
  });

  it('restarts at 0 in the next epoch of the same id', () => {
    const sequence = new PartitionSequence();
    sequence.begin(identity(7n, 4));
    sequence.written(3);
    sequence.restart();
    expect(sequence.stamp).toEqual({ producerId: 7n, producerEpoch: 5, baseSequence: 0 });
  });

  it('needs another id after the last epoch', () => {
    const sequence = new PartitionSequence();
    sequence.begin(identity(7n, 32_766));
    sequence.restart();
    expect(sequence.stamp?.producerEpoch).toBe(32_767);
    sequence.restart();
    expect(sequence.stamp).toBeUndefined();
    expect([sequence.accepts(identity(7n)), sequence.accepts(identity(8n))]).toEqual([false, true]);
  });
});
