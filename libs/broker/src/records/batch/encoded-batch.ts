import { BatchHeader } from './batch-header.js';
import { ATTRIBUTE, BATCH } from './batch-layout.js';
import { writeSafeInt64 } from '../bytes.js';
import { crc32c } from '../crc32c.js';

export interface ProducerStamp {
  /** The full 64-bit id; -1n without idempotence. */
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly baseSequence: number;
}

export interface BatchPlacement {
  readonly baseOffset: number;
  readonly leaderEpoch?: number;
  /** The broker's clock, if the topic uses LogAppendTime. */
  readonly logAppendTime?: number;
}

/**
 * Writes the position of a batch in a log in place, without decoding, as the appending broker does.
 * If the log-append time is set, the CRC is computed again, because it covers that field.
 */
export function placeBatch(batch: Buffer, placement: BatchPlacement): void {
  writeSafeInt64(batch, BATCH.baseOffset, placement.baseOffset);
  if (placement.leaderEpoch !== undefined) {
    batch.writeInt32BE(placement.leaderEpoch, BATCH.leaderEpoch);
  }
  if (placement.logAppendTime === undefined) return;
  writeSafeInt64(batch, BATCH.maxTimestamp, placement.logAppendTime);
  const attributes = batch.readInt16BE(BATCH.attributes) | ATTRIBUTE.logAppendTime;
  batch.writeInt16BE(attributes, BATCH.attributes);
  sealBatch(batch);
}

/** Sets or replaces producer id, epoch and sequence of an encoded batch, and recomputes the CRC. */
export function stampProducer(batch: Buffer, stamp: ProducerStamp): void {
  batch.writeBigInt64BE(stamp.producerId, BATCH.producerId);
  batch.writeInt16BE(stamp.producerEpoch, BATCH.producerEpoch);
  batch.writeInt32BE(stamp.baseSequence, BATCH.baseSequence);
  sealBatch(batch);
}

/** Recomputes the CRC. `batch` must contain exactly one batch. */
export function sealBatch(batch: Buffer): void {
  batch.writeUInt32BE(crc32c(batch, BATCH.attributes), BATCH.crc);
}

/** Splits trusted bytes, such as a broker's own log, into consecutive batches. */
export function batchesIn(log: Buffer): BatchHeader[] {
  const batches: BatchHeader[] = [];
  for (let at = 0; at < log.length;) {
    const header = new BatchHeader(log, at);
    batches.push(header);
    at = header.end;
  }
  return batches;
}
