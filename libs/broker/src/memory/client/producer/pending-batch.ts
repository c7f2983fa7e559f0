import type { OutgoingRecord, TopicPartition } from '../../../port/record.js';
import { BATCH_OVERHEAD, codecOf, RecordBatchWriter } from '../../../records/index.js';
import type { Compression } from '../../../port/producer.js';
import type { AppendResult } from '../../broker/log/partition.js';
import type { ProducerIdentity } from '../../broker/transactions/transactions.js';
import type { SendCall } from './send-call.js';

/** A record in a batch, with its call. */
export interface BatchEntry {
  readonly call: SendCall;
  readonly index: number;
  readonly record: OutgoingRecord;
  readonly timestamp: number;
  /** The reserved buffer memory. */
  readonly bytes: number;
}

/**
 * Records of one partition that are sent together. Encoded when they are added, so that later
 * changes have no effect.
 */
export class PendingBatch {
  readonly entries: BatchEntry[] = [];
  isReady = false;
  #writer: RecordBatchWriter | undefined = new RecordBatchWriter();
  #bytes = BATCH_OVERHEAD;

  constructor(readonly call: SendCall | undefined) {}

  get deadline(): number {
    return this.entries[0]?.call.deadline ?? Infinity;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(entry: BatchEntry): void {
    this.#bytes += this.#writer?.append(entry.record, entry.timestamp) ?? 0;
    this.entries.push(entry);
  }

  encode(
    { producerId, epoch }: ProducerIdentity,
    baseSequence: number,
    compression: Compression,
    transactional: boolean,
  ): Buffer {
    const writer = this.#writer ?? this.#encodeAgain();
    this.#writer = undefined;
    return writer.finish({
      producerId: BigInt(producerId),
      producerEpoch: epoch,
      baseSequence,
      transactional,
      codec: codecOf(compression),
    });
  }

  succeed(to: TopicPartition, { baseOffset, appendTime }: AppendResult): void {
    this.entries.forEach(({ call, index, timestamp }, delta) =>
      call.settle(index, {
        state: 'written',
        ...to,
        offset: baseOffset + delta,
        timestamp: appendTime >= 0 ? appendTime : timestamp,
      }),
    );
  }

  fail(state: 'not-written' | 'unknown', error: Error): void {
    for (const { call, index } of this.entries) call.fail(index, state, error);
  }

  /** Splits the batch into single records, because the broker found it too large. */
  split(): readonly PendingBatch[] {
    return this.entries.map((entry) => {
      const single = new PendingBatch(this.call);
      single.add(entry);
      single.isReady = true;
      return single;
    });
  }

  #encodeAgain(): RecordBatchWriter {
    const writer = new RecordBatchWriter();
    for (const { record, timestamp } of this.entries) writer.append(record, timestamp);
    return writer;
  }
}
