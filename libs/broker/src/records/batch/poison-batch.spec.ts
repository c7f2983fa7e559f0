import { codecOf, writableCompressions } from '../codecs.js';
import { gzip } from '../codecs/gzip.js';
import type { RecordCodec } from '../codecs/record-codec.js';
import { sealBatch } from './encoded-batch.js';
import { RecordBatchWriter } from './record-batch-writer.js';
import {
  batchOf,
  marker,
  readerOf,
  offsetsOf,
  drain,
  poison,
} from './record-batch-reader.spec-support.js';

const writableCodecs = writableCompressions.flatMap((name) => codecOf(name) ?? []);

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
    ['a wrong CRC', broken((b) => (b[70] = 9), false), /CRC-32C/, 13],
    [
      'a wrong CRC and an unconfirmed offset range',
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
    ['a count of zero before records', broken((b) => b.writeInt32BE(0, 57)), /follow the last/, 13],
    ['a negative range', broken((b) => b.writeInt32BE(-1, 23)), /no range/, undefined],
    ['a negative base offset', broken((b) => b.writeInt32BE(-1, 0)), /no range/, undefined],
    ['a base offset beyond 2^53', broken((b) => b.writeInt32BE(2 ** 30, 0)), /2\^53/, undefined],
    ['a base time beyond 2^53', broken((b) => b.writeInt32BE(2 ** 30, 27)), /2\^53/, 13],
    [
      'a log-append time beyond 2^53',
      broken((b) => {
        b.writeInt16BE(8, 21);
        b.writeInt32BE(2 ** 30, 35);
      }),
      /2\^53/,
      13,
    ],
    ['invalid snappy data', broken((b) => b.writeInt16BE(2, 21)), /snappy block/, 13],
    ['invalid lz4 data', broken((b) => b.writeInt16BE(3, 21)), /lz4 block.*magic number/, 13],
    ['invalid zstd data', broken((b) => b.writeInt16BE(4, 21)), /zstd block/, 13],
    ['a codec that does not exist', broken((b) => b.writeInt16BE(7, 21)), /codec 7/, 13],
    ['invalid gzip data', broken((b) => b.writeInt16BE(1, 21)), /gzip block/, 13],
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
    ['a record of length zero', withRecords([0x00, 0, 0, 0, 1, 1, 0], 1), /claims 0 bytes/, 15],
    [
      'a truncated length',
      withRecords([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80], 1),
      /varint/,
      15,
    ],
    [
      'a varint beyond the end of the record',
      withRecords([0x04, 0, 0x80, 1, 1, 1, 0], 1),
      /runs out/,
      15,
    ],
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
      'a negative number of headers',
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
    ['bytes after the headers', withRecords([0x0e, 0, 0, 0, 1, 1, 0, 0], 1), /longer than/, 15],
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

  it.each(writableCodecs.map((codec): [string, RecordCodec] => [codec.name, codec]))(
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
