import { codecOf, writableCompressions } from '../codecs.js';
import { RecordBatchWriter, type BatchOptions } from './record-batch-writer.js';
import { CHUNK_BYTES, RecordChunks } from './open-batch.js';
import { readerOf } from './record-batch-reader.spec-support.js';

const writableCodecs = writableCompressions.flatMap((name) => codecOf(name) ?? []);

describe('memory of the records that a reader returns', () => {
  function large(count: number, size: number, options: BatchOptions = {}): Buffer {
    const writer = new RecordBatchWriter();
    for (let index = 0; index < count; index++) {
      writer.append({ key: `k${index}`, value: Buffer.alloc(size, index) }, 1);
    }
    return writer.finish(options);
  }

  it.each([
    ['plain', {}],
    ...writableCodecs.map((codec): [string, BatchOptions] => [codec.name, { codec }]),
  ])('is never shared with the response (%s)', (_name, options) => {
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
    'is at most one chunk, or about its own size, for one kept record of %d bytes',
    (size) => {
      const records = readerOf(large(20, size)).next(20);
      expect(records).toHaveLength(20);
      records.forEach(({ value }, index) => {
        expect(value?.equals(Buffer.alloc(size, index))).toBe(true);
        expect(value?.buffer.byteLength).toBeLessThanOrEqual(Math.max(CHUNK_BYTES, size + 20));
      });
    },
  );

  it('is one chunk for many small records, also of several responses', () => {
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

  it('is not shared between records: writing into a value changes no other record', () => {
    const [first, second] = readerOf(large(2, 100)).next(2);
    first?.value?.fill(0xff);
    first?.key?.fill(0xff);
    expect(second?.key?.toString()).toBe('k1');
    expect(second?.value?.equals(Buffer.alloc(100, 1))).toBe(true);
  });

  it('is the same object at every access to key, value or headers', () => {
    const writer = new RecordBatchWriter();
    writer.append({ key: 'k', value: 'v', headers: [{ key: 'h', value: '1' }] }, 1);
    const [record] = readerOf(writer.finish()).next(1);
    expect(record?.key).toBe(record?.key);
    expect(record?.value).toBe(record?.value);
    expect(record?.headers).toBe(record?.headers);
  });
});
