import { RecordBatchReader } from '../../../records/index.js';
import type { PartitionLog } from './partition-log.js';

export interface FoundByTime {
  readonly offset: number;
  readonly timestamp: number;
}

/**
 * Returns the first record at or after the timestamp. Records of open and aborted transactions
 * count, markers do not.
 */
export function firstAtOrAfter(log: PartitionLog, timestamp: number): FoundByTime | undefined {
  for (const batch of log.batchesFrom(log.low)) {
    if (batch.control || batch.maxTimestamp < timestamp) continue;
    const reader = new RecordBatchReader(batch.bytes, {
      topic: '',
      partition: 0,
      fetchOffset: Math.max(log.low, batch.baseOffset),
      isolation: 'read_uncommitted',
    });
    const found = reader.next(batch.recordCount).find((record) => record.timestamp >= timestamp);
    if (found) return { offset: found.offset, timestamp: found.timestamp };
  }
  return undefined;
}
