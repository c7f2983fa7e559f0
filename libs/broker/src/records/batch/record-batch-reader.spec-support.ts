import { PoisonBatchError } from '../../port/errors.js';
import type { BrokerRecord } from '../../port/record.js';
import { encodeControlBatch } from './control-batch.js';
import { placeBatch } from './encoded-batch.js';
import { RecordBatchReader, type RecordBatchReaderOptions } from './record-batch-reader.js';
import { RecordBatchWriter, type BatchOptions } from './record-batch-writer.js';

/** A batch whose records have the given offsets; their values contain them. */
export function batchOf(offsets: readonly number[], options: BatchOptions = {}): Buffer {
  const writer = new RecordBatchWriter();
  const base = options.baseOffset ?? offsets[0] ?? 0;
  for (const offset of offsets)
    writer.append({ value: `v${offset}` }, 1000 + offset, offset - base);
  return writer.finish({ leaderEpoch: 5, ...options, baseOffset: base });
}

export function marker(type: 'abort' | 'commit', producerId: bigint, offset: number): Buffer {
  const batch = encodeControlBatch(type, { producerId, producerEpoch: 0, timestamp: 1 });
  placeBatch(batch, { baseOffset: offset });
  return batch;
}

export function transactional(producerId: bigint, ...offsets: number[]): Buffer {
  return batchOf(offsets, { producerId, producerEpoch: 0, baseSequence: 0, transactional: true });
}

export function readerOf(
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

export function offsetsOf(records: readonly BrokerRecord[]): number[] {
  return records.map(({ offset }) => offset);
}

export function drain(reader: RecordBatchReader): number[] {
  const offsets = [];
  while (!reader.done) offsets.push(...offsetsOf(reader.next(3)));
  return offsets;
}

/** Reads until the reader throws; returns the error and the records before it. */
export function readUntilError(reader: RecordBatchReader): { before: number[]; error: unknown } {
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

export function poison(reader: RecordBatchReader): { before: number[]; error: PoisonBatchError } {
  const { before, error } = readUntilError(reader);
  expect(error).toBeInstanceOf(PoisonBatchError);
  return { before, error: error as PoisonBatchError };
}
