import fc from 'fast-check';
import { encodeControlBatch } from '../../../records/index.js';
import { batchOf, sequenced } from './batch-of.spec-support.js';
import { PartitionLog } from './partition-log.js';

const offsets = (batches: readonly { baseOffset: number; lastOffset: number }[]): number[][] =>
  batches.map(({ baseOffset, lastOffset }) => [baseOffset, lastOffset]);

function logOf(...sizes: number[]): PartitionLog {
  const log = new PartitionLog();
  for (const size of sizes) log.append(batchOf(Array.from({ length: size }, () => 'v')), 0);
  return log;
}

describe('PartitionLog', () => {
  it('assigns offsets without gaps and reads from the batch that contains the offset', () => {
    const log = logOf(3, 1, 2);
    expect([log.low, log.high]).toEqual([0, 6]);
    expect(offsets(log.read(1, Infinity, 6, true))).toEqual([
      [0, 2],
      [3, 3],
      [4, 5],
    ]);
    expect(offsets(log.read(3, Infinity, 6, true))[0]).toEqual([3, 3]);
  });

  it('returns the first batch beyond the limit only on request', () => {
    const log = logOf(3, 1);
    expect(log.read(0, 1, 4, true)).toHaveLength(1);
    expect(log.read(0, 1, 4, false)).toHaveLength(0);
  });

  it('drops batches below the low watermark, and keeps a batch that contains it', () => {
    const log = logOf(3, 3);
    log.deleteBefore(4);
    expect(log.low).toBe(4);
    expect(offsets(log.read(4, Infinity, 6, true))).toEqual([[3, 5]]);
    log.deleteBefore(2);
    expect(log.low).toBe(4);
  });

  it('expires the oldest batches by time and by size, in order', () => {
    const log = new PartitionLog();
    for (const timestamp of [10, 20, 30]) log.append(batchOf(['v'], { timestamp }), 0);
    log.expire(21, Infinity);
    expect(log.low).toBe(2);
    log.expire(-Infinity, 0);
    expect([log.low, log.high]).toEqual([3, 3]);
  });

  it('keeps a new batch that precedes an old one', () => {
    const log = new PartitionLog();
    for (const timestamp of [30, 10]) log.append(batchOf(['v'], { timestamp }), 0);
    log.expire(20, Infinity);
    expect(log.low).toBe(0);
  });

  it('returns the end of a leader epoch', () => {
    const log = logOf(2);
    log.append(batchOf(['v']), 4);
    expect(log.endOfEpoch(0)).toEqual({ epoch: 0, end: 2 });
    expect(log.endOfEpoch(3)).toEqual({ epoch: 0, end: 2 });
    expect(log.endOfEpoch(4)).toEqual({ epoch: 4, end: 3 });
    log.truncate(2);
    expect(log.endOfEpoch(4)).toEqual({ epoch: 0, end: 2 });
  });

  it('holds the last stable offset at the first record of the oldest open transaction', () => {
    const log = new PartitionLog();
    log.append(sequenced(0, ['a'], { producerId: 1n, transactional: true }), 0);
    log.append(sequenced(0, ['b'], { producerId: 2n, transactional: true }), 0);
    log.append(batchOf(['plain']), 0);
    expect([log.lastStable, log.high]).toEqual([0, 3]);
    end(log, 1n, 'abort');
    expect(log.lastStable).toBe(1);
    end(log, 2n, 'commit');
    expect(log.lastStable).toBe(5);
  });

  it('lists the aborted transactions of a range, including those that started before it', () => {
    const log = new PartitionLog();
    log.append(sequenced(0, ['a', 'b'], { producerId: 1n, transactional: true }), 0);
    log.append(batchOf(['plain']), 0);
    end(log, 1n, 'abort');
    expect(log.abortedBetween(1, 4)).toEqual([{ producerId: 1, firstOffset: 0 }]);
    expect(log.abortedBetween(4, 9)).toEqual([]);
  });

  it('finds every offset after any appends, deletions and expirations (property)', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.integer({ min: 1, max: 4 }), fc.constant('delete' as const)), {
          maxLength: 30,
        }),
        (steps) => {
          const log = new PartitionLog();
          for (const step of steps)
            if (step === 'delete') log.deleteBefore(Math.ceil((log.low + log.high) / 2));
            else log.append(batchOf(Array.from({ length: step }, () => 'v')), 0);
          for (let offset = log.low; offset < log.high; offset++) {
            const [first] = log.read(offset, 0, log.high, true);
            expect(first && first.baseOffset <= offset && offset <= first.lastOffset).toBe(true);
          }
          expect(log.read(log.high, Infinity, log.high, true)).toEqual([]);
        },
      ),
    );
  });
});

function end(log: PartitionLog, producerId: bigint, outcome: 'commit' | 'abort'): void {
  const marker = encodeControlBatch(outcome, { producerId, producerEpoch: 1, timestamp: 1_000 });
  log.endTransaction(log.append(marker, 0), outcome);
}
