import { PartitionSequence } from './partition-sequence.js';

const identity = (producerId: bigint, producerEpoch = 0) => ({ producerId, producerEpoch });

describe('PartitionSequence', () => {
  it('has no stamp before begin()', () => {
    const sequence = new PartitionSequence();
    expect([sequence.hasStarted, sequence.stamp]).toEqual([false, undefined]);
    sequence.restart();
    sequence.discardProducerId();
    expect(sequence.accepts(identity(7n))).toBe(true);
  });

  it('starts at 0 and advances with written records, not with attempts', () => {
    const sequence = new PartitionSequence();
    sequence.begin(identity(7n));
    expect(sequence.stamp).toEqual({ producerId: 7n, producerEpoch: 0, baseSequence: 0 });
    expect(sequence.stamp?.baseSequence).toBe(0);
    sequence.advance(3);
    sequence.advance(2);
    expect(sequence.stamp?.baseSequence).toBe(5);
  });

  it('continues with 0 after the largest 32-bit integer', () => {
    const sequence = new PartitionSequence();
    sequence.begin(identity(7n));
    sequence.advance(2 ** 31 - 2);
    sequence.advance(5);
    expect(sequence.stamp?.baseSequence).toBe(3);
  });

  it('restarts at 0 in the next epoch of the same producer id', () => {
    const sequence = new PartitionSequence();
    sequence.begin(identity(7n, 4));
    sequence.advance(3);
    sequence.restart();
    expect(sequence.stamp).toEqual({ producerId: 7n, producerEpoch: 5, baseSequence: 0 });
  });

  it('needs another producer id after the last epoch', () => {
    const sequence = new PartitionSequence();
    sequence.begin(identity(7n, 32_766));
    sequence.restart();
    expect(sequence.stamp?.producerEpoch).toBe(32_767);
    sequence.restart();
    expect(sequence.stamp).toBeUndefined();
    expect([sequence.accepts(identity(7n)), sequence.accepts(identity(8n))]).toEqual([false, true]);
  });
});
