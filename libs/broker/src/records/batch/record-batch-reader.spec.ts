import { MalformedResponseError } from '../../port/errors.js';
import { gzip } from '../codecs/gzip.js';
import { placeBatch, sealBatch } from './encoded-batch.js';
import {
  batchOf,
  readerOf,
  offsetsOf,
  drain,
  readUntilError,
} from './record-batch-reader.spec-support.js';

describe('RecordBatchReader.next', () => {
  it('returns at most the requested number of records, in order, also from several batches', () => {
    const reader = readerOf([batchOf([0, 1, 2]), batchOf([3, 4, 5, 6])]);
    expect(offsetsOf(reader.next(2))).toEqual([0, 1]);
    expect(offsetsOf(reader.next(3))).toEqual([2, 3, 4]);
    expect(reader.done).toBe(false);
    expect(offsetsOf(reader.next(100))).toEqual([5, 6]);
    expect(reader.done).toBe(true);
    expect(reader.next(100)).toEqual([]);
  });

  it('returns records with topic, partition and offset', () => {
    const [record] = readerOf(batchOf([7]), { fetchOffset: 7 }).next(1);
    expect(record).toMatchObject({
      topic: 'orders',
      partition: 2,
      offset: 7,
      timestamp: 1007,
      leaderEpoch: 5,
      key: null,
    });
    expect(record?.value?.toString()).toBe('v7');
    expect(record?.headers).toEqual([]);
  });

  it('sets the position behind the last returned record', () => {
    const reader = readerOf(batchOf([10, 11, 12]), { fetchOffset: 10 });
    expect(reader.position).toBe(10);
    reader.next(2);
    expect(reader.position).toBe(12);
    reader.next(2);
    expect(reader.position).toBe(13);
  });

  it('skips records before the fetch offset', () => {
    const reader = readerOf([batchOf([1, 2]), batchOf([3, 4, 5])], { fetchOffset: 4 });
    expect(drain(reader)).toEqual([4, 5]);
  });

  it('returns nothing for an empty response, and is done at once', () => {
    const reader = readerOf(Buffer.alloc(0), { fetchOffset: 9 });
    expect([reader.done, reader.next(5), reader.position]).toEqual([true, [], 9]);
  });

  it('returns no record if asked for none', () => {
    const reader = readerOf(batchOf([0]));
    expect([reader.next(0), reader.position]).toEqual([[], 0]);
  });

  it('sets the leader epoch to that of the current batch', () => {
    const reader = readerOf([batchOf([0], { leaderEpoch: 5 }), batchOf([1], { leaderEpoch: 6 })]);
    expect(reader.leaderEpoch).toBe(-1);
    expect(reader.next(1)[0]?.leaderEpoch).toBe(5);
    expect(reader.next(1)[0]?.leaderEpoch).toBe(6);
    expect(reader.leaderEpoch).toBe(6);
  });

  it('reads a duplicate batch only once', () => {
    expect(drain(readerOf([batchOf([0, 1]), batchOf([0, 1]), batchOf([2])]))).toEqual([0, 1, 2]);
  });
});

describe('RecordBatchReader on a compacted log', () => {
  it('skips gaps in a batch, and moves the position to the end of its offset range', () => {
    const reader = readerOf([batchOf([10, 13, 17], { lastOffsetDelta: 9 })], { fetchOffset: 10 });
    expect(offsetsOf(reader.next(2))).toEqual([10, 13]);
    expect(reader.position).toBe(14);
    expect(offsetsOf(reader.next(1))).toEqual([17]);
    expect(reader.position).toBe(20);
  });

  it('moves the position past an empty batch', () => {
    const reader = readerOf(batchOf([], { baseOffset: 30, lastOffsetDelta: 4 }), {
      fetchOffset: 32,
    });
    expect([reader.next(10), reader.done, reader.position]).toEqual([[], true, 35]);
  });

  it('accepts an empty batch that still has a codec', () => {
    const empty = batchOf([], { baseOffset: 3, lastOffsetDelta: 0 });
    empty.writeInt16BE(4, 21);
    sealBatch(empty);
    const packed = batchOf([], { baseOffset: 4, lastOffsetDelta: 1, codec: gzip });
    const reader = readerOf([empty.subarray(0, 61), packed, batchOf([6])], { fetchOffset: 3 });
    expect([drain(reader), reader.position]).toEqual([[6], 7]);
  });

  it('accepts a batch that starts after the fetch offset', () => {
    const reader = readerOf(batchOf([50]), { fetchOffset: 40 });
    expect([drain(reader), reader.position]).toEqual([[50], 51]);
  });

  it('accepts a fetch offset in a gap at the end of a batch', () => {
    const reader = readerOf([batchOf([1], { lastOffsetDelta: 5 }), batchOf([7])], {
      fetchOffset: 4,
    });
    expect(drain(reader)).toEqual([7]);
  });

  it('returns the original timestamps if the base timestamp is a delete horizon', () => {
    const batch = batchOf([0]);
    batch.writeInt16BE(0x40, 21);
    sealBatch(batch);
    expect(readerOf(batch).next(1)[0]?.timestamp).toBe(1000);
  });
});

describe('RecordBatchReader at the end of a response', () => {
  it('returns no record of a truncated last batch, wherever it is cut', () => {
    const first = batchOf([0, 1]);
    const second = batchOf([2, 3]);
    for (let kept = 0; kept < second.length; kept++) {
      const reader = readerOf([first, second.subarray(0, kept)]);
      expect([drain(reader), reader.position]).toEqual([[0, 1], 2]);
    }
  });

  it('throws for a truncated first batch, and keeps the position', () => {
    const batch = batchOf([0, 1]);
    for (const kept of [1, 12, 17, 60, batch.length - 1]) {
      const reader = readerOf(batch.subarray(0, kept));
      const { before, error } = readUntilError(reader);
      expect(error).toBeInstanceOf(MalformedResponseError);
      expect([before, reader.position, reader.done]).toEqual([[], 0, false]);
    }
  });
});

describe('RecordBatchReader with log-append time', () => {
  it('gives all records the largest timestamp of the batch', () => {
    const batch = batchOf([0, 1, 2]);
    placeBatch(batch, { baseOffset: 0, logAppendTime: 77_000 });
    const times = readerOf(batch)
      .next(9)
      .map(({ timestamp }) => timestamp);
    expect(times).toEqual([77_000, 77_000, 77_000]);
  });
});
