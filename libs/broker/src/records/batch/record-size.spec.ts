import fc from 'fast-check';
import { RecordBatchWriter } from './record-batch-writer.js';
import { maxSizeOfRecord, sizeOfRecord } from './record-size.js';

const part = fc.oneof(
  fc.constant(null),
  fc.string({ unit: 'binary', maxLength: 100 }),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
);
const record = fc.record({
  key: part,
  value: part,
  headers: fc.array(fc.record({ key: fc.string({ unit: 'binary' }), value: part }), {
    maxLength: 5,
  }),
});

describe('sizeOfRecord and maxSizeOfRecord', () => {
  it('sizeOfRecord equals the size that the writer uses, and never exceeds maxSizeOfRecord', () => {
    fc.assert(
      fc.property(
        record,
        fc.integer(),
        fc.nat(1_000_000),
        (content, timestampDelta, offsetDelta) => {
          const writer = new RecordBatchWriter();
          writer.append({ value: null }, 1_000);
          const taken = writer.append(content, 1_000 + timestampDelta, offsetDelta + 1);
          expect(sizeOfRecord(content, timestampDelta, offsetDelta + 1)).toBe(taken);
          expect(maxSizeOfRecord(content)).toBeGreaterThanOrEqual(taken);
        },
      ),
    );
  });

  it('maxSizeOfRecord is large enough for a long value of three-byte characters', () => {
    const content = { key: '\u20ac'.repeat(3000), value: '\u20ac'.repeat(100_000) };
    expect(maxSizeOfRecord(content)).toBeGreaterThanOrEqual(
      sizeOfRecord(content, 2 ** 52, 2 ** 30),
    );
  });
});
