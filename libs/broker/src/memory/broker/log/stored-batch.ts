import { BatchHeader, MalformedBytesError, readBatchHeader } from '../../../records/index.js';
import { Refusal } from '../faults/refusal.js';

/** A batch with the header properties that a broker needs. */
export interface StoredBatch {
  readonly bytes: Buffer;
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly leaderEpoch: number;
  readonly maxTimestamp: number;
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly baseSequence: number;
  readonly recordCount: number;
  readonly transactional: boolean;
  readonly control: boolean;
}

/** Refuses bytes that are not exactly one valid batch. */
export function checkBatch(bytes: Buffer): void {
  try {
    if (readBatchHeader(bytes, 0, true)?.end === bytes.length) return;
  } catch (error) {
    if (!(error instanceof MalformedBytesError)) throw error;
    throw new Refusal('CORRUPT_MESSAGE', `the batch is broken: ${error.message}`);
  }
  throw new Refusal('CORRUPT_MESSAGE', 'a produce request holds exactly one whole batch');
}

export function describeBatch(bytes: Buffer): StoredBatch {
  const header = new BatchHeader(bytes);
  return {
    bytes,
    baseOffset: header.baseOffset,
    lastOffset: header.lastOffset,
    leaderEpoch: header.leaderEpoch,
    maxTimestamp: header.maxTimestamp,
    producerId: Number(header.producerId),
    producerEpoch: header.producerEpoch,
    baseSequence: header.baseSequence,
    recordCount: header.count,
    transactional: header.isTransactional,
    control: header.isControl,
  };
}
