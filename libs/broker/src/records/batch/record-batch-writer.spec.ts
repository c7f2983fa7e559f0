import { gunzipSync } from 'node:zlib';
import { InvalidOptionError } from '../../port/errors.js';
import { BatchHeader } from './batch-header.js';
import { gzip } from '../codecs/gzip.js';
import { RecordBatchWriter } from './record-batch-writer.js';
import { RecordBatchReader } from './record-batch-reader.js';

const source = { topic: 'orders', partition: 0, fetchOffset: 0 };

describe('RecordBatchWriter', () => {
  it('writes the layout of format 2, byte for byte', () => {
    const writer = new RecordBatchWriter();
    writer.append({ key: 'k', value: 'vv', headers: [{ key: 'h', value: null }] }, 1000);
    writer.append({ value: null }, 998);
    const batch = writer.finish({
      baseOffset: 5,
      leaderEpoch: 2,
      producerId: 9n,
      producerEpoch: 3,
      baseSequence: 7,
      transactional: true,
    });
    const header = new BatchHeader(batch);
    expect(header.isCrcRight()).toBe(true);
    batch.fill(0, 17, 21);
    expect(batch.toString('hex')).toBe(
      [
        '0000000000000005', // base offset
        (batch.length - 12).toString(16).padStart(8, '0'), // length
        '00000002', // leader epoch
        '02', // magic
        '00000000', // CRC, checked above
        '0010', // attributes: transactional
        '00000001', // last offset delta
        '00000000000003e8', // base timestamp
        '00000000000003e8', // max timestamp
        '0000000000000009', // producer id
        '0003', // producer epoch
        '00000007', // base sequence
        '00000002', // count
        '18' + '00' + '00' + '00' + '026b' + '047676' + '02' + '0268' + '01',
        '0c' + '00' + '03' + '02' + '01' + '01' + '00',
      ].join(''),
    );
  });

  it('writes -1 as producer, epoch and sequence if it is not idempotent, and leaves offset and epoch to the broker', () => {
    const writer = new RecordBatchWriter();
    writer.append({ value: 'v' }, 1);
    expect(new BatchHeader(writer.finish())).toMatchObject({
      producerId: -1n,
      producerEpoch: -1,
      baseSequence: -1,
      baseOffset: 0,
      leaderEpoch: -1,
      attributes: 0,
    });
  });

  it('returns size and count after each append, and enlarges its buffer as needed', () => {
    const writer = new RecordBatchWriter(1);
    let expected = 61;
    for (let index = 0; index < 200; index++) {
      expected += writer.append(
        { key: `key-${index}`, value: 'x'.repeat(index * 7) },
        1000 + index,
      );
      expect(writer.sizeInBytes).toBe(expected);
    }
    expect(writer.count).toBe(200);
    expect(writer.maxTimestamp).toBe(1199);
    const batch = writer.finish();
    expect(batch.length).toBe(expected);
    expect(new RecordBatchReader(batch, source).next(500)).toHaveLength(200);
  });

  it('writes the largest timestamp of all records, not that of the last one', () => {
    const writer = new RecordBatchWriter();
    for (const timestamp of [-5, 100, 20]) writer.append({ value: null }, timestamp);
    const header = new BatchHeader(writer.finish());
    expect([header.baseTimestamp, header.maxTimestamp]).toEqual([-5, 100]);
  });

  it('compresses the records as one gzip block', () => {
    const plain = new RecordBatchWriter();
    const packed = new RecordBatchWriter();
    for (const writer of [plain, packed]) {
      for (let index = 0; index < 50; index++) writer.append({ value: 'again and again' }, 1);
    }
    const batch = packed.finish({ codec: gzip });
    const header = new BatchHeader(batch);
    expect(header.codec).toBe(1);
    expect(header.isCrcRight()).toBe(true);
    expect(gunzipSync(batch.subarray(61))).toEqual(plain.finish().subarray(61));
  });

  it.each([5, undefined, {}, ['a']])('rejects %j as a value and stays usable', (value) => {
    const writer = new RecordBatchWriter();
    writer.append({ value: 'good' }, 1);
    const before = writer.sizeInBytes;
    expect(() => writer.append({ key: 'k', value: value as unknown as string }, 2)).toThrow(
      InvalidOptionError,
    );
    expect([writer.count, writer.sizeInBytes]).toEqual([1, before]);
    writer.append({ value: 'good too' }, 3);
    const texts = new RecordBatchReader(writer.finish(), source)
      .next(9)
      .map(({ value: v }) => String(v));
    expect(texts).toEqual(['good', 'good too']);
  });

  it('rejects a header without a key, which no consumer accepts', () => {
    const writer = new RecordBatchWriter();
    const headers = [{ key: null as unknown as string, value: 'v' }];
    expect(() => writer.append({ value: 'v', headers }, 1)).toThrow(InvalidOptionError);
  });

  it('rejects timestamps whose difference is not a safe integer', () => {
    const writer = new RecordBatchWriter();
    writer.append({ value: 'v' }, -(2 ** 53) + 1);
    expect(() => writer.append({ value: 'v' }, 2 ** 53 - 1)).toThrow(InvalidOptionError);
    expect(writer.count).toBe(1);
  });

  it.each([Number.NaN, 2 ** 53, 1.5])('rejects %d as a timestamp', (timestamp) => {
    const writer = new RecordBatchWriter();
    expect(() => writer.append({ value: 'v' }, timestamp)).toThrow(InvalidOptionError);
    expect(writer.count).toBe(0);
  });
});
