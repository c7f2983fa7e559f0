import type { BrokerRecord } from '../../port/record.js';
import { RecordBatchReader } from './record-batch-reader.js';
import { RecordBatchWriter } from './record-batch-writer.js';
import type { RecordContent } from './record-size.js';

function read(content: RecordContent): BrokerRecord {
  const writer = new RecordBatchWriter();
  writer.append({ key: 'secret of a neighbour', value: 'secret of a neighbour' }, 1);
  writer.append(content, 5);
  const reader = new RecordBatchReader(writer.finish(), {
    topic: 'orders',
    partition: 2,
    fetchOffset: 1,
  });
  const [record] = reader.next(1);
  if (record === undefined) throw new Error('the record did not come back');
  return record;
}

describe('LogRecord', () => {
  it('distinguishes null from empty in key, value and headers', () => {
    const headers = [
      { key: '', value: null },
      { key: 'a', value: '' },
      { key: 'a', value: 'x' },
    ];
    const record = read({ key: '', value: null, headers });
    expect(record.key).toEqual(Buffer.alloc(0));
    expect(record.value).toBeNull();
    expect(record.headers).toEqual([
      { key: '', value: null },
      { key: 'a', value: Buffer.alloc(0) },
      { key: 'a', value: Buffer.from('x') },
    ]);
    expect(read({ value: '' }).key).toBeNull();
    expect(read({ value: '' }).value).toEqual(Buffer.alloc(0));
  });

  it('returns its size, and decodes nothing for it', () => {
    const headers = [{ key: 'a', value: 'xyz' }];
    const [small, large] = [
      read({ value: 'v', headers }),
      read({ key: 'key', value: 'v', headers }),
    ];
    expect(large.sizeInBytes - small.sizeInBytes).toBe(3);
    expect(read({ key: null, value: null }).sizeInBytes).toBe(0);
    expect(read({ value: 'größe €' }).sizeInBytes).toBe(Buffer.byteLength('größe €'));
  });

  it('finds a header by its name, and decodes nothing for it', () => {
    const names = ['a', 'ab', 'x'.repeat(200), 'größe'];
    const headers = [
      { key: 'null', value: null },
      { key: 'empty', value: '' },
      { key: 'large', value: 'y'.repeat(20_000) },
      ...names.map((key) => ({ key, value: 'v' })),
    ];
    const record = read({ key: 'missing', value: 'missing', headers });
    for (const { key } of headers) expect(record.hasHeader?.(Buffer.from(key))).toBe(true);
    for (const key of ['', 'b', 'missing', 'abc', 'x'.repeat(199), 'v'])
      expect(record.hasHeader?.(Buffer.from(key))).toBe(false);
    expect(read({ value: 'a' }).hasHeader?.(Buffer.from('a'))).toBe(false);
  });

  it('is serialized to JSON with its position and without bytes', () => {
    expect(JSON.parse(JSON.stringify(read({ key: 'k', value: 'v' })))).toEqual({
      topic: 'orders',
      partition: 2,
      offset: 1,
      timestamp: 5,
      timestampType: 'CreateTime',
      leaderEpoch: -1,
    });
  });
});
