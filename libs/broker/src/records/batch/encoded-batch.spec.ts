import { BatchHeader } from './batch-header.js';
import { batchesIn, placeBatch, stampProducer } from './encoded-batch.js';
import { RecordBatchReader } from './record-batch-reader.js';
import { RecordBatchWriter } from './record-batch-writer.js';

function encoded(...values: string[]): Buffer {
  const writer = new RecordBatchWriter();
  values.forEach((value, index) => writer.append({ value }, 100 + index));
  return writer.finish();
}

describe('changing an encoded batch in place', () => {
  it('placeBatch writes offset and epoch, and the CRC stays valid', () => {
    const batch = encoded('a', 'b');
    placeBatch(batch, { baseOffset: 2 ** 40 + 3, leaderEpoch: 8 });
    const header = new BatchHeader(batch);
    expect(header).toMatchObject({
      baseOffset: 2 ** 40 + 3,
      lastOffset: 2 ** 40 + 4,
      leaderEpoch: 8,
    });
    expect(header.isCrcRight()).toBe(true);
    expect(header.isLogAppendTime).toBe(false);
  });

  it('placeBatch writes the log-append time of the broker, and every record has it', () => {
    const batch = encoded('a', 'b');
    placeBatch(batch, { baseOffset: 0, logAppendTime: 5_000 });
    expect(new BatchHeader(batch).isCrcRight()).toBe(true);
    const records = new RecordBatchReader(batch, { topic: 't', partition: 0, fetchOffset: 0 }).next(
      9,
    );
    expect(records.map(({ timestamp }) => timestamp)).toEqual([5_000, 5_000]);
  });

  it('stampProducer replaces producer and sequence, as after an epoch bump', () => {
    const batch = encoded('a');
    stampProducer(batch, { producerId: 2n ** 60n, producerEpoch: 4, baseSequence: 11 });
    const header = new BatchHeader(batch);
    expect(header).toMatchObject({ producerId: 2n ** 60n, producerEpoch: 4, baseSequence: 11 });
    expect(header.isCrcRight()).toBe(true);
  });

  it('the CRC detects one changed byte', () => {
    const batch = encoded('abc');
    batch[batch.length - 3] = 0;
    expect(new BatchHeader(batch).isCrcRight()).toBe(false);
  });

  it('batchesIn splits a log into its batches', () => {
    const log = Buffer.concat([encoded('a'), encoded('b', 'c'), encoded('d')]);
    expect(batchesIn(log).map(({ count }) => count)).toEqual([1, 2, 1]);
    expect(batchesIn(log).at(-1)?.end).toBe(log.length);
  });
});
