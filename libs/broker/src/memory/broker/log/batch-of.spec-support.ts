import { RecordBatchWriter, type BatchOptions } from '../../../records/index.js';

/** Encodes a batch as a producer does; one record per value. */
export function batchOf(
  values: readonly string[],
  options: BatchOptions & { readonly timestamp?: number } = {},
): Buffer {
  const writer = new RecordBatchWriter();
  for (const value of values) writer.append({ value }, options.timestamp ?? 1_000);
  return writer.finish(options);
}

/** Encodes a batch of an idempotent producer. */
export function sequenced(
  baseSequence: number,
  values: readonly string[],
  { producerId = 7n, producerEpoch = 0, transactional = false } = {},
): Buffer {
  return batchOf(values, { producerId, producerEpoch, baseSequence, transactional });
}
