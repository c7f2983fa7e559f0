import { placeBatch } from './encoded-batch.js';
import { endOfBatches } from './batch-header.js';
import { RecordBatchWriter } from './record-batch-writer.js';

function batchAt(baseOffset: number, lastOffsetDelta: number): Buffer {
  const writer = new RecordBatchWriter();
  writer.append({ value: 'v' }, 1);
  const batch = writer.finish({ lastOffsetDelta });
  placeBatch(batch, { baseOffset });
  return batch;
}

describe('endOfBatches', () => {
  const batches = [batchAt(10, 4), batchAt(20, 0), batchAt(21, 8)];

  it('returns the offset after the last complete batch', () => {
    expect(endOfBatches(Buffer.concat(batches), 12)).toBe(30);
    expect(endOfBatches(Buffer.concat(batches).subarray(0, -1), 12)).toBe(21);
  });

  it('returns the position itself if no complete batch follows it', () => {
    expect(endOfBatches(Buffer.alloc(0), 12)).toBe(12);
    expect(endOfBatches(batchAt(10, 4).subarray(0, 40), 12)).toBe(12);
    expect(endOfBatches(batchAt(10, 1), 12)).toBe(12);
  });

  it('stops at a batch whose header is invalid', () => {
    const broken = Buffer.from(batchAt(20, 0));
    broken[16] = 9;
    expect(endOfBatches(Buffer.concat([batchAt(10, 4), broken, batchAt(21, 8)]), 12)).toBe(15);
  });
});
