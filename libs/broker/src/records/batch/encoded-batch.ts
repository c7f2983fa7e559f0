import { BatchHeader } from './batch-header.js';
import { ATTRIBUTE, BATCH } from './batch-layout.js';
import { writeSafeInt64 } from '../bytes.js';
import { crc32c } from '../crc32c.js';

export interface ProducerStamp {
  /** All 64 bits; -1n without idempotence. */
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly baseSequence: number;
}

export interface BatchPlacement {
  readonly baseOffset: number;
  readonly leaderEpoch?: number;
  /** The broker's clock, where the topic says LogAppendTime. */
  readonly logAppendTime?: number;
}

/**
 * Gives a batch its place in a log, as the broker that appends it does: in place, without
 * decoding it. Only log-append time is under the CRC, which is then written anew.
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

/** Gives an encoded batch its producer and sequence, or other ones than it has; the CRC follows. */
export function stampProducer(batch: Buffer, stamp: ProducerStamp): void {
  batch.writeBigInt64BE(stamp.producerId, BATCH.producerId);
  batch.writeInt16BE(stamp.producerEpoch, BATCH.producerEpoch);
  batch.writeInt32BE(stamp.baseSequence, BATCH.baseSequence);
  sealBatch(batch);
}

/** Writes the CRC. `batch` is one batch and nothing else. */
export function sealBatch(batch: Buffer): void {
  batch.writeUInt32BE(crc32c(batch, BATCH.attributes), BATCH.crc);
}

/** The batches that stand one behind the other in trusted bytes, such as a broker's own log. */
export function batchesIn(log: Buffer): BatchHeader[] {
  const batches: BatchHeader[] = [];
  for (let at = 0; at < log.length;) {
    const header = new BatchHeader(log, at);
    batches.push(header);
    at = header.end;
  }
  return batches;
}
