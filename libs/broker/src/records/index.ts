/**
 * The record batch codec of both drivers. Independent of sockets, clocks and brokers. Internal: not
 * an entry point of the package.
 *
 * Writing (in a producer's accumulator, or in the memory broker):
 *
 *   const writer = new RecordBatchWriter(16_384);
 *   if (writer.sizeInBytes + maxSizeOfRecord(record) > batchBytes) … start another
 *   writer.append(record, timestamp);              // encodes at once, keeps no reference
 *   const batch = writer.finish({ codec: gzip, producerId, producerEpoch, baseSequence });
 *
 * Appending to a log (in a broker): `new BatchHeader(batch)` reads the header, `readBatchHeader`
 * also validates it. `placeBatch` writes base offset, leader epoch and log-append time in place.
 * `encodeControlBatch` creates the markers that end transactions.
 *
 * Reading (in a fetcher, and in the memory broker's consumers):
 *
 *   const reader = new RecordBatchReader(bytes, { topic, partition, fetchOffset, chunks, headerNames });
 *   while (!reader.done) handle(reader.next(50), reader.position);
 *
 * `next` throws PoisonBatchError or MalformedResponseError after it has returned the valid records
 * before the error. The records own their memory: neither a retained record nor a reader that is
 * `done` keeps the response in memory.
 */
export { AbortedTransactions } from './batch/aborted-transactions.js';
export type { AbortedTransaction, ControlType } from './batch/aborted-transactions.js';
export { BatchHeader, endOfBatches, readBatchHeader } from './batch/batch-header.js';
export { codecOf, CodecRegistry, standardCodecs, writableCompressions } from './codecs.js';
export { gzip } from './codecs/gzip.js';
export { CODEC } from './codecs/record-codec.js';
export type { RecordCodec, RecordInflater } from './codecs/record-codec.js';
export { encodeControlBatch } from './batch/control-batch.js';
export type { ControlBatchOptions } from './batch/control-batch.js';
export { crc32c } from './crc32c.js';
export { batchesIn, placeBatch, sealBatch, stampProducer } from './batch/encoded-batch.js';
export type { BatchPlacement, ProducerStamp } from './batch/encoded-batch.js';
export { LeaderEpochHistory } from './batch/leader-epoch-history.js';
export { HeaderNameCache } from './header-name-cache.js';
export { LogRecord, sizeOfAll } from './batch/log-record.js';
export { MalformedBytesError } from './malformed-bytes-error.js';
export { murmur2 } from './murmur2.js';
export { partitionOfKey } from './partition-of-key.js';
export { RecordBatchReader } from './batch/record-batch-reader.js';
export type { RecordBatchReaderOptions } from './batch/record-batch-reader.js';
export { RecordBatchWriter } from './batch/record-batch-writer.js';
export type { BatchOptions } from './batch/record-batch-writer.js';
export { CHUNK_BYTES, RecordChunks } from './batch/open-batch.js';
export { BATCH_OVERHEAD, maxSizeOfRecord, sizeOfRecord } from './batch/record-size.js';
export type { RecordContent } from './batch/record-size.js';
