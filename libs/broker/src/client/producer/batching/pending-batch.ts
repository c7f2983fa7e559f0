import { errorReasonOf } from '../../../port/error-text.js';
import { RequestTimeoutError } from '../../../port/errors.js';
import type { BrokerRecord, OutgoingRecord } from '../../../port/record.js';
import {
  RecordBatchReader,
  RecordBatchWriter,
  stampProducer,
  type ProducerStamp,
  type RecordCodec,
} from '../../../records/index.js';
import type { BatchStamp } from '../idempotence/partition-sequence.js';
import { failedRecordState, type FailedState } from '../failed-record-state.js';
import type { RecordHolder, SendCall } from '../send-call.js';

/** The consecutive records of one call in a batch. */
export class CallRecords implements RecordHolder {
  readonly indexes: number[] = [];
  /** True until the records have an outcome or are in another batch. */
  isOpen = true;

  constructor(
    readonly call: SendCall,
    private readonly batch: PendingBatch,
  ) {
    call.addHolder(this);
  }

  get isInFlight(): boolean {
    return this.batch.stage === 'in-flight';
  }

  written(baseOffset: number, appendTime: number): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    const { indexes, call } = this;
    const { partition } = this.batch;
    for (let at = 0; at < indexes.length; at++) {
      const offset = baseOffset < 0 ? -1 : baseOffset + at;
      call.writtenAt(indexes[at] as number, partition, offset, appendTime);
    }
  }

  failed(state: FailedState, error: Error): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    for (const index of this.indexes) this.call.failed(index, state, error);
  }

  abandon(reason: Error | undefined): void {
    this.batch.hasAbandonedRecords = true;
    this.failed(this.batch.stateIfAbandoned, reason ?? this.batch.timeoutError(this.call));
  }

  /**
   * Releases the records, so that another batch can take them. Returns false if they already have
   * an outcome.
   */
  release(): boolean {
    const wasOpen = this.isOpen;
    this.isOpen = false;
    return wasOpen;
  }
}

/**
 * The stages of a batch: in a queue, chosen for a request, and in flight. From the last stage on
 * its records may be written.
 */
export type BatchStage = 'queued' | 'chosen' | 'in-flight';

/**
 * A record batch for one partition. Records are appended until the first request of the batch is
 * sent. Each record is encoded when it is appended, so that the caller may change its buffers
 * afterwards.
 */
export class PendingBatch {
  readonly #writer: RecordBatchWriter;
  readonly #parts: CallRecords[] = [];
  #sealed: Buffer | undefined;
  #stamp: ProducerStamp | undefined;
  #lastPart: CallRecords | undefined;
  /** The number of attempts so far. */
  attempts = 0;
  stage: BatchStage = 'queued';
  /** True after an attempt that was sent and whose result is unknown. */
  mayBeWritten = false;
  /** True if some records of the batch have an outcome already and must not be sent (again). */
  hasAbandonedRecords = false;
  /** The error of the latest attempt. */
  lastError: Error | undefined;
  /** Monotonic time of the first deadline of its calls. */
  #firstDeadline = Number.POSITIVE_INFINITY;

  constructor(
    readonly topic: string,
    readonly partition: number,
    /** Monotonic time at which the first record was appended. */
    readonly openedAt: number,
    capacity?: number,
  ) {
    this.#writer = new RecordBatchWriter(capacity);
  }

  get count(): number {
    return this.#writer.count;
  }

  /** The size before compression. */
  get sizeInBytes(): number {
    return this.#writer.sizeInBytes;
  }

  /** True if records can still be appended. */
  get isOpen(): boolean {
    return this.#sealed === undefined && this.stage === 'queued';
  }

  /** True if at least one record of the batch has no outcome yet. */
  get isAwaited(): boolean {
    return this.#parts.some(({ isOpen }) => isOpen);
  }

  get stateIfAbandoned(): FailedState {
    return failedRecordState(this.mayBeWritten, this.stage === 'in-flight');
  }

  /**
   * Returns the number of appended bytes. Throws, and changes nothing, if the record cannot be
   * encoded. `bound` is the `maxSizeOfRecord`.
   */
  append(call: SendCall, index: number, record: OutgoingRecord, bound: number): number {
    const bytes = this.#writer.append(record, call.timestampOf(record), undefined, bound);
    this.#assignToCall(call, index);
    return bytes;
  }

  /** Returns the encoded batch: the same bytes each time, unless the stamp has changed. */
  seal(codec: RecordCodec | undefined, stamp?: BatchStamp): Buffer {
    if (this.#sealed === undefined) this.#sealed = this.#writer.finish({ codec, ...stamp });
    else if (stamp !== undefined && !isSame(stamp, this.#stamp)) stampProducer(this.#sealed, stamp);
    this.#stamp = stamp;
    return this.#sealed;
  }

  written(baseOffset: number, appendTime: number): void {
    let offset = baseOffset;
    for (const share of this.#parts) {
      share.written(offset, appendTime);
      if (offset >= 0) offset += share.indexes.length;
    }
  }

  failed(state: FailedState, error: Error): void {
    for (const share of this.#parts) share.failed(state, error);
  }

  /** Fails the records of calls that began by this time. */
  failCallsUntil(startedBy: number, error: Error): void {
    for (const share of this.#parts)
      if (share.call.timing.startedAt <= startedBy) share.abandon(error);
  }

  /** Removes the records of aborted calls, so that they are not sent again. */
  dropAbandoned(): void {
    for (const share of this.#parts)
      if (share.call.abandoned !== undefined) share.abandon(share.call.abandoned);
  }

  /** Fails the records of calls whose deadline is over. */
  dropOverdue(now: number): void {
    if (now < this.#firstDeadline) return;
    this.#firstDeadline = Number.POSITIVE_INFINITY;
    for (const share of this.#parts)
      if (share.call.deadlineAt <= now) share.abandon(undefined);
      else this.#firstDeadline = Math.min(this.#firstDeadline, share.call.deadlineAt);
  }

  timeoutError(call: SendCall): Error {
    const { topic, partition } = this;
    const seconds = `${call.timing.timeoutMs} ms`;
    const last = this.lastError === undefined ? '' : ` Last: ${errorReasonOf(this.lastError)}`;
    return new RequestTimeoutError(
      `Partition ${partition} of "${topic}" did not acknowledge the record within ${seconds}. Check that it has a leader and enough in-sync replicas, or raise deliveryTimeoutMs.${last}`,
      { cause: this.lastError },
    );
  }

  /**
   * Encodes all records without an outcome again, in order, into the batches that `destinationOf`
   * returns. If it returns an error, the record fails. This batch must not be used afterwards. The
   * records are decoded from the bytes of this batch, because the caller may have changed its
   * buffers.
   */
  redistribute(destinationOf: (position: number) => PendingBatch | Error): void {
    const records = this.#decode();
    let position = 0;
    for (const share of this.#parts) {
      const needsPlace = share.release();
      for (const index of share.indexes) {
        const record = records[position];
        if (needsPlace && record) this.#moveTo(share.call, index, record, destinationOf(position));
        position++;
      }
    }
  }

  #moveTo(call: SendCall, index: number, record: BrokerRecord, to: PendingBatch | Error): void {
    if (to instanceof Error) return call.failed(index, this.stateIfAbandoned, to);
    to.#writer.append(record, record.timestamp);
    to.#assignToCall(call, index);
  }

  #decode(): readonly BrokerRecord[] {
    return new RecordBatchReader(this.seal(undefined), {
      topic: this.topic,
      partition: this.partition,
      fetchOffset: 0,
      isolation: 'read_uncommitted',
      checkCrc: false,
      maxInflatedBytes: this.sizeInBytes,
    }).next(this.count);
  }

  #assignToCall(call: SendCall, index: number): void {
    if (this.#lastPart?.call !== call) {
      this.#lastPart = new CallRecords(call, this);
      this.#parts.push(this.#lastPart);
      this.#firstDeadline = Math.min(this.#firstDeadline, call.deadlineAt);
    }
    this.#lastPart.indexes.push(index);
  }
}

function isSame(left: ProducerStamp, right: ProducerStamp | undefined): boolean {
  return (
    left.producerId === right?.producerId &&
    left.producerEpoch === right.producerEpoch &&
    left.baseSequence === right.baseSequence
  );
}
