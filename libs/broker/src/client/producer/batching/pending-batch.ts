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
import type { FailedState, Holding, SendCall } from '../send-call.js';

/** Consecutive records of a batch that belong to one call. */
export class Share implements Holding {
  readonly indexes: number[] = [];
  #isOpen = true;

  constructor(
    readonly call: SendCall,
    private readonly batch: PendingBatch,
  ) {
    call.heldBy(this);
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get isUnderWay(): boolean {
    return this.batch.stage === 'under-way';
  }

  written(baseOffset: number, appendTime: number): void {
    if (!this.#close()) return;
    const { indexes, call } = this;
    const { partition } = this.batch;
    for (let at = 0; at < indexes.length; at++) {
      const offset = baseOffset < 0 ? -1 : baseOffset + at;
      call.writtenAt(indexes[at] as number, partition, offset, appendTime);
    }
  }

  failed(state: FailedState, error: Error): void {
    if (!this.#close()) return;
    for (const index of this.indexes) this.call.failed(index, state, error);
  }

  giveUp(reason: Error | undefined): void {
    this.batch.hasLeavers = true;
    this.failed(this.batch.fateIfGivenUp, reason ?? this.batch.explain(this.call));
  }

  /** Its records move to another batch; false when they have an outcome already. */
  release(): boolean {
    return this.#close();
  }

  #close(): boolean {
    const wasOpen = this.#isOpen;
    this.#isOpen = false;
    return wasOpen;
  }
}

/** Chosen for a request; then that request leaves, and from then on the records may be written. */
export type BatchStage = 'queued' | 'chosen' | 'under-way';

/**
 * A record batch on its way to one partition: open while records are added, sealed when its first
 * request leaves. Records are encoded when they come, so the caller's buffers are free at once.
 */
export class PendingBatch {
  readonly #writer: RecordBatchWriter;
  readonly #shares: Share[] = [];
  #sealed: Buffer | undefined;
  #stamp: ProducerStamp | undefined;
  #lastShare: Share | undefined;
  /** How often it was sent. */
  attempts = 0;
  stage: BatchStage = 'queued';
  /** An attempt left whose fate is not known. */
  mayBeWritten = false;
  /** Some records in it have an outcome already and must not be sent (again). */
  hasLeavers = false;
  /** What went wrong last. */
  trouble: Error | undefined;

  constructor(
    readonly topic: string,
    readonly partition: number,
    /** Monotonic: since when the first record waits. */
    readonly openedAt: number,
    capacity?: number,
  ) {
    this.#writer = new RecordBatchWriter(capacity);
  }

  get count(): number {
    return this.#writer.count;
  }

  /** Before compression. */
  get sizeInBytes(): number {
    return this.#writer.sizeInBytes;
  }

  /** Takes more records. */
  get isOpen(): boolean {
    return this.#sealed === undefined && this.stage === 'queued';
  }

  /** Somebody still waits for the outcome of a record in it. */
  get isAwaited(): boolean {
    return this.#shares.some(({ isOpen }) => isOpen);
  }

  get fateIfGivenUp(): FailedState {
    return this.mayBeWritten || this.stage === 'under-way' ? 'unknown' : 'not-written';
  }

  /** Returns the bytes it took. Throws, and changes nothing, when the record cannot be encoded. */
  append(call: SendCall, index: number, record: OutgoingRecord): number {
    const bytes = this.#writer.append(record, call.timestampOf(record));
    this.#claim(call, index);
    return bytes;
  }

  /** The same bytes every time, unless the stamp has changed since. */
  seal(codec: RecordCodec | undefined, stamp?: BatchStamp): Buffer {
    if (this.#sealed === undefined) this.#sealed = this.#writer.finish({ codec, ...stamp });
    else if (stamp !== undefined && !isSame(stamp, this.#stamp)) stampProducer(this.#sealed, stamp);
    this.#stamp = stamp;
    return this.#sealed;
  }

  written(baseOffset: number, appendTime: number): void {
    let offset = baseOffset;
    for (const share of this.#shares) {
      share.written(offset, appendTime);
      if (offset >= 0) offset += share.indexes.length;
    }
  }

  failed(state: FailedState, error: Error): void {
    for (const share of this.#shares) share.failed(state, error);
  }

  /** Those whose caller gave up are not tried again. */
  dropAbandoned(): void {
    for (const share of this.#shares)
      if (share.call.abandoned !== undefined) share.giveUp(share.call.abandoned);
  }

  explain(call: SendCall): Error {
    const { topic, partition } = this;
    const seconds = `${call.clock.timeoutMs} ms`;
    const last = this.trouble === undefined ? '' : ` Last: ${this.trouble.message}`;
    return new RequestTimeoutError(
      `Partition ${partition} of "${topic}" did not acknowledge the record within ${seconds}.${last}`,
      { cause: this.trouble },
    );
  }

  /**
   * Encodes again those records that still need a place, in order; `destinationOf` tells for each
   * position which batch takes it, or why it fails. This batch is then worth nothing. It reads
   * our own bytes: the caller's may have changed since.
   */
  redistribute(destinationOf: (position: number) => PendingBatch | Error): void {
    const records = this.#decode();
    let position = 0;
    for (const share of this.#shares) {
      const needsPlace = share.release();
      for (const index of share.indexes) {
        const record = records[position];
        if (needsPlace && record) this.#hand(share.call, index, record, destinationOf(position));
        position++;
      }
    }
  }

  #hand(call: SendCall, index: number, record: BrokerRecord, to: PendingBatch | Error): void {
    if (to instanceof Error) return call.failed(index, this.fateIfGivenUp, to);
    to.#writer.append(record, record.timestamp);
    to.#claim(call, index);
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

  #claim(call: SendCall, index: number): void {
    if (this.#lastShare?.call !== call) {
      this.#lastShare = new Share(call, this);
      this.#shares.push(this.#lastShare);
    }
    this.#lastShare.indexes.push(index);
  }
}

function isSame(left: ProducerStamp, right: ProducerStamp | undefined): boolean {
  return (
    left.producerId === right?.producerId &&
    left.producerEpoch === right.producerEpoch &&
    left.baseSequence === right.baseSequence
  );
}
