import { MalformedResponseError, PoisonBatchError } from '../../port/errors.js';
import type { BrokerRecord } from '../../port/record.js';
import { encodeControlBatch } from './control-batch.js';
import { codecOf, writableCompressions } from '../codecs.js';
import { gzip } from '../codecs/gzip.js';
import type { RecordCodec } from '../codecs/record-codec.js';
import { placeBatch, sealBatch } from './encoded-batch.js';
import { RecordBatchReader, type RecordBatchReaderOptions } from './record-batch-reader.js';
import { RecordBatchWriter, type BatchOptions } from './record-batch-writer.js';
import { CHUNK_BYTES, RecordChunks } from './record-chunks.js';

const WRITABLE = writableCompressions.flatMap((name) => codecOf(name) ?? []);

/** A batch whose records have the given offsets; their values contain them. */
function batchOf(offsets: readonly number[], options: BatchOptions = {}): Buffer {
  const writer = new RecordBatchWriter();
  const base = options.baseOffset ?? offsets[0] ?? 0;
  for (const offset of offsets)
    writer.append({ value: `v${offset}` }, 1000 + offset, offset - base);
  return writer.finish({ leaderEpoch: 5, ...options, baseOffset: base });
}

function marker(type: 'abort' | 'commit', producerId: bigint, offset: number): Buffer {
  const batch = encodeControlBatch(type, { producerId, producerEpoch: 0, timestamp: 1 });
  placeBatch(batch, { baseOffset: offset });
  return batch;
}

function transactional(producerId: bigint, ...offsets: number[]): Buffer {
  return batchOf(offsets, { producerId, producerEpoch: 0, baseSequence: 0, transactional: true });
}

function readerOf(
  bytes: Buffer | readonly Buffer[],
  options: Partial<RecordBatchReaderOptions> = {},
): RecordBatchReader {
  const records = Buffer.isBuffer(bytes) ? bytes : Buffer.concat(bytes);
  return new RecordBatchReader(records, {
    topic: 'orders',
    partition: 2,
    fetchOffset: 0,
    ...options,
  });
}

function offsetsOf(records: readonly BrokerRecord[]): number[] {
  return records.map(({ offset }) => offset);
}

function drain(reader: RecordBatchReader): number[] {
  const offsets = [];
  while (!reader.done) offsets.push(...offsetsOf(reader.next(3)));
  return offsets;
}

/** Reads until the reader throws; returns the error and the records before it. */
function trouble(reader: RecordBatchReader): { before: number[]; error: unknown } {
  const before: number[] = [];
  for (let round = 0; round < 1000; round++) {
    try {
      before.push(...offsetsOf(reader.next(2)));
    } catch (error) {
      return { before, error };
    }
  }
  throw new Error('nothing was wrong with these batches');
}

function poison(reader: RecordBatchReader): { before: number[]; error: PoisonBatchError } {
  const { before, error } = trouble(reader);
  expect(error).toBeInstanceOf(PoisonBatchError);
  return { before, error: error as PoisonBatchError };
}

describe('RecordBatchReader.next', () => {
  it('returns at most the requested number, in order, across batches, and then none', () => {
    const reader = readerOf([batchOf([0, 1, 2]), batchOf([3, 4, 5, 6])]);
    expect(offsetsOf(reader.next(2))).toEqual([0, 1]);
    expect(offsetsOf(reader.next(3))).toEqual([2, 3, 4]);
    expect(reader.done).toBe(false);
    expect(offsetsOf(reader.next(100))).toEqual([5, 6]);
    expect(reader.done).toBe(true);
    expect(reader.next(100)).toEqual([]);
  });

  it('a record contains its topic, partition and offset', () => {
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

  it('the position follows the last returned record', () => {
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

  it('an empty response has no records and is done at once', () => {
    const reader = readerOf(Buffer.alloc(0), { fetchOffset: 9 });
    expect([reader.done, reader.next(5), reader.position]).toEqual([true, [], 9]);
  });

  it('reads no record when asked for none', () => {
    const reader = readerOf(batchOf([0]));
    expect([reader.next(0), reader.position]).toEqual([[], 0]);
  });

  it('reports the leader epoch of the current batch', () => {
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
  it('handles gaps in a batch and at its end: the position moves to the end of the range', () => {
    const reader = readerOf([batchOf([10, 13, 17], { lastOffsetDelta: 9 })], { fetchOffset: 10 });
    expect(offsetsOf(reader.next(2))).toEqual([10, 13]);
    expect(reader.position).toBe(14);
    expect(offsetsOf(reader.next(1))).toEqual([17]);
    expect(reader.position).toBe(20);
  });

  it('an empty batch only moves the position', () => {
    const reader = readerOf(batchOf([], { baseOffset: 30, lastOffsetDelta: 4 }), {
      fetchOffset: 32,
    });
    expect([reader.next(10), reader.done, reader.position]).toEqual([[], true, 35]);
  });

  it('an empty batch may keep its codec', () => {
    const empty = batchOf([], { baseOffset: 3, lastOffsetDelta: 0 });
    empty.writeInt16BE(4, 21);
    sealBatch(empty);
    const packed = batchOf([], { baseOffset: 4, lastOffsetDelta: 1, codec: gzip });
    const reader = readerOf([empty.subarray(0, 61), packed, batchOf([6])], { fetchOffset: 3 });
    expect([drain(reader), reader.position]).toEqual([[6], 7]);
  });

  it('a batch may start after the fetch offset', () => {
    const reader = readerOf(batchOf([50]), { fetchOffset: 40 });
    expect([drain(reader), reader.position]).toEqual([[50], 51]);
  });

  it('the fetch offset may lie in a gap at the end of a batch', () => {
    const reader = readerOf([batchOf([1], { lastOffsetDelta: 5 }), batchOf([7])], {
      fetchOffset: 4,
    });
    expect(drain(reader)).toEqual([7]);
  });

  it('a delete horizon as base timestamp does not change the record timestamps', () => {
    const batch = batchOf([0]);
    batch.writeInt16BE(0x40, 21);
    sealBatch(batch);
    expect(readerOf(batch).next(1)[0]?.timestamp).toBe(1000);
  });
});

describe('RecordBatchReader at the end of a response', () => {
  it('leaves a truncated last batch to the next fetch, wherever the cut is', () => {
    const first = batchOf([0, 1]);
    const second = batchOf([2, 3]);
    for (let kept = 0; kept < second.length; kept++) {
      const reader = readerOf([first, second.subarray(0, kept)]);
      expect([drain(reader), reader.position]).toEqual([[0, 1], 2]);
    }
  });

  it('throws for a truncated first batch, and the position stays', () => {
    const batch = batchOf([0, 1]);
    for (const kept of [1, 12, 17, 60, batch.length - 1]) {
      const reader = readerOf(batch.subarray(0, kept));
      const { before, error } = trouble(reader);
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

describe('RecordBatchReader with read_committed', () => {
  it('never returns control batches, and the position moves past them', () => {
    const reader = readerOf([transactional(1n, 0, 1), marker('commit', 1n, 2), batchOf([3])]);
    expect(drain(reader)).toEqual([0, 1, 3]);
    const last = readerOf([batchOf([0]), marker('commit', 1n, 1)]);
    expect([drain(last), last.position]).toEqual([[0], 2]);
  });

  it('skips aborted batches, and the position moves past them', () => {
    const bytes = [transactional(1n, 0, 1), marker('abort', 1n, 2)];
    const reader = readerOf(bytes, { abortedTransactions: [{ producerId: 1n, firstOffset: 0 }] });
    expect([drain(reader), reader.position]).toEqual([[], 3]);
  });

  it('ends overlapping transactions each at its own marker, for an unsorted list too', () => {
    const reader = readerOf(
      [
        transactional(1n, 0),
        transactional(2n, 1),
        transactional(3n, 2),
        marker('abort', 1n, 3),
        transactional(2n, 4),
        transactional(1n, 5),
        marker('abort', 2n, 6),
        marker('commit', 1n, 7),
        marker('commit', 3n, 8),
        transactional(2n, 9),
      ],
      {
        abortedTransactions: [
          { producerId: 2n, firstOffset: 1 },
          { producerId: 1n, firstOffset: 0 },
        ],
      },
    );
    expect(drain(reader)).toEqual([2, 5, 9]);
  });

  it('applies both of two aborted transactions that started before the first record (kafkajs returns offset 10)', () => {
    const reader = readerOf(
      [
        transactional(2n, 10),
        transactional(1n, 11),
        marker('abort', 1n, 12),
        marker('abort', 2n, 13),
      ],
      {
        fetchOffset: 10,
        abortedTransactions: [
          { producerId: 1n, firstOffset: 3 },
          { producerId: 2n, firstOffset: 5 },
        ],
      },
    );
    expect([drain(reader), reader.position]).toEqual([[], 14]);
  });

  it('skips the records of an aborted transaction that started before the fetch offset', () => {
    const reader = readerOf([transactional(1n, 20), marker('abort', 1n, 21), batchOf([22])], {
      fetchOffset: 20,
      abortedTransactions: [{ producerId: 1n, firstOffset: 3 }],
    });
    expect(drain(reader)).toEqual([22]);
  });

  it('returns a non-transactional idempotent batch of the same producer', () => {
    const plain = batchOf([1], { producerId: 1n, producerEpoch: 0, baseSequence: 0 });
    const abortedTransactions = [{ producerId: 1n, firstOffset: 0 }];
    expect(drain(readerOf([plain], { abortedTransactions }))).toEqual([1]);
  });

  it('read_uncommitted returns aborted records, and still no control batch', () => {
    const reader = readerOf([transactional(1n, 0), marker('abort', 1n, 1)], {
      isolation: 'read_uncommitted',
      abortedTransactions: [{ producerId: 1n, firstOffset: 0 }],
    });
    expect([drain(reader), reader.position]).toEqual([[0], 2]);
  });
});

describe('memory ownership of records', () => {
  function large(count: number, size: number, options: BatchOptions = {}): Buffer {
    const writer = new RecordBatchWriter();
    for (let index = 0; index < count; index++) {
      writer.append({ key: `k${index}`, value: Buffer.alloc(size, index) }, 1);
    }
    return writer.finish(options);
  }

  it.each([
    ['plain', {}],
    ...WRITABLE.map((codec): [string, BatchOptions] => [codec.name, { codec }]),
  ])('a record never shares memory with its response (%s)', (_name, options) => {
    const answer = large(100, 300, options);
    const records = readerOf(answer).next(100);
    answer.fill(0xee);
    records.forEach(({ key, value }, index) => {
      expect(key?.toString()).toBe(`k${index}`);
      expect(value?.equals(Buffer.alloc(300, index))).toBe(true);
      expect(value?.buffer).not.toBe(answer.buffer);
    });
  });

  it.each([10, 300, 5_000, 16_000, 100_000])(
    'a retained record of %d bytes keeps at most one chunk, or about its own size',
    (size) => {
      const records = readerOf(large(20, size)).next(20);
      expect(records).toHaveLength(20);
      records.forEach(({ value }, index) => {
        expect(value?.equals(Buffer.alloc(size, index))).toBe(true);
        expect(value?.buffer.byteLength).toBeLessThanOrEqual(Math.max(CHUNK_BYTES, size + 20));
      });
    },
  );

  it('many records share one chunk, and so do responses with a single record', () => {
    const buffers = new Set(
      readerOf(large(50, 200))
        .next(50)
        .map(({ value }) => value?.buffer),
    );
    expect(buffers.size).toBe(1);
    const chunks = new RecordChunks();
    const single = Array.from({ length: 40 }, () => readerOf(large(1, 200), { chunks }).next(1)[0]);
    expect(new Set(single.map((record) => record?.value?.buffer)).size).toBe(1);
  });

  it('writing into a value changes no other record', () => {
    const [first, second] = readerOf(large(2, 100)).next(2);
    first?.value?.fill(0xff);
    first?.key?.fill(0xff);
    expect(second?.key?.toString()).toBe('k1');
    expect(second?.value?.equals(Buffer.alloc(100, 1))).toBe(true);
  });

  it('key, value and headers are the same object at every access', () => {
    const writer = new RecordBatchWriter();
    writer.append({ key: 'k', value: 'v', headers: [{ key: 'h', value: '1' }] }, 1);
    const [record] = readerOf(writer.finish()).next(1);
    expect(record?.key).toBe(record?.key);
    expect(record?.value).toBe(record?.value);
    expect(record?.headers).toBe(record?.headers);
  });
});

describe('a poison batch', () => {
  /** Bytes of a batch at offset 10 with the given records section. */
  function withRecords(section: readonly number[], count: number, lastOffsetDelta = 4): Buffer {
    const batch = Buffer.concat([
      batchOf([], { baseOffset: 10, lastOffsetDelta }),
      Buffer.from(section),
    ]);
    batch.writeInt32BE(batch.length - 12, 8);
    batch.writeInt32BE(count, 57);
    sealBatch(batch);
    return batch;
  }

  function broken(change: (batch: Buffer) => void, seal = true): Buffer {
    const batch = batchOf([10, 11, 12]);
    change(batch);
    if (seal) sealBatch(batch);
    return batch;
  }

  const packed = (change: (batch: Buffer) => void) => {
    const batch = batchOf([10, 11, 12], { codec: gzip });
    change(batch);
    sealBatch(batch);
    return batch;
  };

  it.each<[string, Buffer, RegExp, number | undefined]>([
    ['a CRC that does not match', broken((b) => (b[70] = 9), false), /CRC-32C/, 13],
    [
      'a CRC that does not match and a range that nothing confirms',
      broken((b) => b.writeInt32BE(9, 23), false),
      /CRC-32C/,
      undefined,
    ],
    [
      'a length below the shortest',
      broken((b) => b.writeInt32BE(48, 8)),
      /length is 48/,
      undefined,
    ],
    ['a negative length', broken((b) => b.writeInt32BE(-1, 8)), /length is -1/, undefined],
    ['message format 0', broken((b) => (b[16] = 0)), /old message format 0/, 11],
    ['message format 1', broken((b) => (b[16] = 1)), /old message format 1/, 11],
    ['a format that does not exist', broken((b) => (b[16] = 3)), /format is 3/, undefined],
    ['a negative count', broken((b) => b.writeInt32BE(-1, 57)), /claims -1 records/, 13],
    ['more records than offsets', broken((b) => b.writeInt32BE(4, 57)), /claims 4 records/, 13],
    [
      'more records than bytes',
      broken((b) => {
        b.writeInt32BE(1_000_000, 57);
        b.writeInt32BE(1_000_000, 23);
      }),
      /cannot hold so many/,
      1_000_011,
    ],
    ['a count of none before records', broken((b) => b.writeInt32BE(0, 57)), /follow the last/, 13],
    ['a negative range', broken((b) => b.writeInt32BE(-1, 23)), /no range/, undefined],
    ['a negative base offset', broken((b) => b.writeInt32BE(-1, 0)), /no range/, undefined],
    ['a base offset beyond 2^53', broken((b) => b.writeInt32BE(2 ** 30, 0)), /2\^53/, undefined],
    ['a base time beyond 2^53', broken((b) => b.writeInt32BE(2 ** 30, 27)), /2\^53/, 13],
    [
      'an append time beyond 2^53',
      broken((b) => {
        b.writeInt16BE(8, 21);
        b.writeInt32BE(2 ** 30, 35);
      }),
      /2\^53/,
      13,
    ],
    ['snappy that is none', broken((b) => b.writeInt16BE(2, 21)), /snappy block/, 13],
    ['lz4 that is none', broken((b) => b.writeInt16BE(3, 21)), /lz4 block.*magic number/, 13],
    ['zstd that is none', broken((b) => b.writeInt16BE(4, 21)), /zstd block/, 13],
    ['a codec that does not exist', broken((b) => b.writeInt16BE(7, 21)), /codec 7/, 13],
    ['gzip that is none', broken((b) => b.writeInt16BE(1, 21)), /gzip block/, 13],
    ['a broken gzip block', packed((b) => b.fill(0xff, 75, 85)), /gzip block/, 13],
    [
      'a record longer than the batch',
      withRecords([0x40, 0, 0, 0, 1, 1, 0], 1),
      /claims 32 bytes/,
      15,
    ],
    [
      'a record of negative length',
      withRecords([0x01, 0, 0, 0, 1, 1, 0], 1),
      /claims -1 bytes/,
      15,
    ],
    ['a record of no length', withRecords([0x00, 0, 0, 0, 1, 1, 0], 1), /claims 0 bytes/, 15],
    [
      'a length that runs out',
      withRecords([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80], 1),
      /varint/,
      15,
    ],
    ['a varint cut by the record', withRecords([0x04, 0, 0x80, 1, 1, 1, 0], 1), /runs out/, 15],
    [
      'a key longer than its record',
      withRecords([0x0c, 0, 0, 0, 0x10, 1, 0], 1),
      /key claims 8/,
      15,
    ],
    ['a key of length -2', withRecords([0x0c, 0, 0, 0, 0x03, 1, 0], 1), /key claims -2/, 15],
    [
      'a value longer than its record',
      withRecords([0x0c, 0, 0, 0, 1, 0x10, 0], 1),
      /value claims 8/,
      15,
    ],
    ['a value of length -2', withRecords([0x0c, 0, 0, 0, 1, 0x03, 0], 1), /value claims -2/, 15],
    [
      'headers of negative number',
      withRecords([0x0c, 0, 0, 0, 1, 1, 1], 1),
      /claims -1 headers/,
      15,
    ],
    [
      'more headers than bytes',
      withRecords([0x10, 0, 0, 0, 1, 1, 4, 0, 1], 1),
      /claims 2 headers/,
      15,
    ],
    ['a header without a key', withRecords([0x10, 0, 0, 0, 1, 1, 2, 1, 1], 1), /no key/, 15],
    [
      'a header key too long',
      withRecords([0x10, 0, 0, 0, 1, 1, 2, 6, 1], 1),
      /header key claims 3/,
      15,
    ],
    [
      'a header value too long',
      withRecords([0x10, 0, 0, 0, 1, 1, 2, 0, 2], 1),
      /header value claims 1/,
      15,
    ],
    ['bytes behind the headers', withRecords([0x0e, 0, 0, 0, 1, 1, 0, 0], 1), /longer than/, 15],
    [
      'an offset beyond the range',
      withRecords([0x0c, 0, 0, 0x0a, 1, 1, 0], 1),
      /offset delta is 5/,
      15,
    ],
    [
      'an offset before the range',
      withRecords([0x0c, 0, 0, 0x01, 1, 1, 0], 1),
      /offset delta is -1/,
      15,
    ],
    [
      'a time beyond 2^53',
      withRecords([0x1a, 0, ...new Array<number>(7).fill(0xfe), 0x7e, 0, 1, 1, 0], 1),
      /2\^53/,
      15,
    ],
  ])('is reported at its offset: %s', (_name, bytes, message, nextOffset) => {
    const reader = readerOf([batchOf([8, 9]), bytes], { fetchOffset: 8 });
    const { before, error } = poison(reader);
    expect(before).toEqual([8, 9]);
    expect(error.message).toMatch(message);
    expect(error.message).toContain('orders-2 at offset 10');
    expect(error).toMatchObject({ topic: 'orders', partition: 2, offset: 10, nextOffset });
    expect(reader.position).toBe(10);
  });

  it('is returned despite a wrong CRC if checkCrc is false', () => {
    const batch = broken((b) => b.writeUInt32BE(1, 17), false);
    expect(drain(readerOf(batch, { checkCrc: false }))).toEqual([10, 11, 12]);
  });

  it.each(WRITABLE.map((codec): [string, RecordCodec] => [codec.name, codec]))(
    'is reported if it inflates beyond the limit, and is accepted at the limit: %s',
    (_name, codec) => {
      const writer = new RecordBatchWriter();
      writer.append({ value: Buffer.alloc(1_000_000) }, 1);
      const inflated = writer.sizeInBytes - 61;
      const bomb = writer.finish({ codec });
      const { error } = poison(readerOf(bomb, { maxInflatedBytes: inflated - 1 }));
      expect(error.message).toMatch(/maxInflatedBytes/);
      expect(drain(readerOf(bomb, { maxInflatedBytes: inflated }))).toEqual([0]);
    },
  );

  it('is reported after the valid records before it; the position is the offset of the broken record', () => {
    const good = [0x0c, 0, 0, 0, 1, 1, 0];
    const reader = readerOf(withRecords([...good, 0x0c, 0, 0, 2, 0x10, 1, 0], 2), {
      fetchOffset: 10,
    });
    expect(offsetsOf(reader.next(50))).toEqual([10]);
    expect([reader.position, reader.done]).toEqual([11, false]);
    const { before, error } = poison(reader);
    expect([before, error.offset, error.nextOffset]).toEqual([[], 11, 15]);
  });

  it('is reported if bytes follow its claimed records, because they may be hidden records', () => {
    const { before, error } = poison(readerOf(broken((b) => b.writeInt32BE(2, 57))));
    expect(before).toEqual([10, 11]);
    expect(error.message).toMatch(/follow the last/);
    expect(error).toMatchObject({ offset: 12, nextOffset: 13 });
  });

  it('is reported if its offsets do not increase: no record is returned twice', () => {
    const record = [0x0c, 0, 0, 2, 1, 1, 0];
    const { before, error } = poison(readerOf(withRecords([...record, ...record], 2)));
    expect([before, error.offset]).toEqual([[11], 12]);
  });

  it('is reported again by every further call', () => {
    const reader = readerOf(broken((b) => (b[16] = 3)));
    const first = poison(reader).error;
    expect(() => reader.next(1)).toThrow(first);
    expect(reader.done).toBe(false);
  });

  it('has no nextOffset if that offset would not move forward', () => {
    const batch = broken((b) => (b[16] = 1));
    expect(poison(readerOf(batch, { fetchOffset: 40 })).error.nextOffset).toBeUndefined();
  });

  it('is skipped by seeking to nextOffset', () => {
    const bad = withRecords([0x40, 0, 0, 0, 1, 1, 0], 1);
    const { error } = poison(readerOf([bad, batchOf([15, 16])], { fetchOffset: 10 }));
    const again = readerOf([batchOf([15, 16])], { fetchOffset: error.nextOffset ?? -1 });
    expect(drain(again)).toEqual([15, 16]);
  });

  it('is reported for an unreadable control batch with read_committed', () => {
    const bad = marker('abort', 1n, 10);
    bad[61] = 0x7e;
    sealBatch(bad);
    const { error } = poison(readerOf(bad, { fetchOffset: 10 }));
    expect(error).toMatchObject({ offset: 10, nextOffset: 11 });
    expect(drain(readerOf(bad, { fetchOffset: 10, isolation: 'read_uncommitted' }))).toEqual([]);
  });
});
