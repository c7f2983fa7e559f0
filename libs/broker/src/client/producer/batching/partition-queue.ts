import type { OutgoingRecord } from '../../../port/record.js';
import { RecordTooLargeError } from '../../../port/errors.js';
import { BATCH_OVERHEAD, maxSizeOfRecord, sizeOfRecord } from '../../../records/index.js';
import { Backoff } from '../../../runtime/index.js';
import { PartitionSequence } from '../idempotence/partition-sequence.js';
import { PendingBatch } from './pending-batch.js';
import type { SendCall } from '../send-call.js';
import { RETRY_BACKOFF, REQUEST_OVERHEAD, type SenderContext } from '../sender-context.js';

export type QueueState =
  /** The queue has no records. */
  | 'empty'
  /** The partition waits for a producer id, or until the transaction contains it. */
  | 'unregistered'
  /** The partition waits in the queue of its leader. */
  | 'ready'
  /**
   * The head batch is in flight. The next batch of the partition is sent only after the response.
   */
  | 'in-flight'
  /**
   * The head batch waits for its next attempt. The other batches of the partition wait behind it.
   */
  | 'retrying';

/** The largest deltas, so that the size of a record is never underestimated. */
const LONGEST_TIMESTAMP_DELTA = 2 ** 50;
const LONGEST_OFFSET_DELTA = 2 ** 31 - 1;
const SMALLEST_CAPACITY = 4_096;

/** Limits the bytes of all records that are encoded but have no outcome yet. */
export class MemoryBudget {
  used = 0;

  constructor(
    private readonly limit: number,
    private readonly onReleased: () => void,
  ) {}

  has(bytes: number): boolean {
    return this.used + bytes <= this.limit;
  }

  release(bytes: number): void {
    this.used -= bytes;
    this.onReleased();
  }
}

/**
 * The batches of one partition, in the order in which they are written. Records are appended to the
 * last batch.
 */
export class PartitionQueue {
  state: QueueState = 'empty';
  readonly backoff: Backoff;
  /** The sequence numbers of the partition; undefined if the producer is not idempotent. */
  readonly sequence: PartitionSequence | undefined;
  /** The offset of the latest record that was acknowledged in this session. */
  lastOffset = -1;
  readonly #batches: PendingBatch[] = [];
  /** The size of the latest batch, as the initial capacity of the next one. */
  #typicalBytes = SMALLEST_CAPACITY;
  /** The limit of a batch, which shrinks when the broker refuses a batch as too large. */
  #largestBatch: number;
  /** The limit of a record, in any batch. */
  readonly #largestRecord: number;

  constructor(
    readonly topic: string,
    readonly partition: number,
    private readonly context: SenderContext,
    private readonly memory: MemoryBudget,
  ) {
    this.backoff = new Backoff(context.cluster.runtime, RETRY_BACKOFF);
    this.sequence = context.options.idempotent ? new PartitionSequence() : undefined;
    const { maxRequestBytes, bufferBytes } = context.options;
    this.#largestBatch = maxRequestBytes - REQUEST_OVERHEAD;
    this.#largestRecord = Math.min(this.#largestBatch - BATCH_OVERHEAD, bufferBytes);
  }

  get head(): PendingBatch | undefined {
    return this.#batches[0];
  }

  /**
   * Returns true if the head batch may be in the log under its sequence number. It is then sent
   * again unchanged, or given up. Other bytes under the same number would be treated as a duplicate
   * and lost. The same records under another number could be written twice.
   */
  get isHeadImmutable(): boolean {
    return this.sequence !== undefined && this.head?.mayBeWritten === true;
  }

  get length(): number {
    return this.#batches.length;
  }

  /**
   * Encodes the record and returns its size in bytes, or 0 if no memory is available. Throws if the
   * record can never be sent.
   */
  append(call: SendCall, index: number, record: OutgoingRecord): number {
    const bound = maxSizeOfRecord(record);
    const last = this.#batches.at(-1);
    const fits =
      last?.isOpen === true &&
      last.sizeInBytes + bound <= this.#largestBatch &&
      this.memory.has(bound);
    const batch = fits ? last : this.#batchFor(record, bound, last);
    if (batch === undefined) return 0;
    const bytes = batch.append(call, index, record, bound);
    // A new batch is added to the queue only now, so that a failed encoding leaves no empty batch.
    if (batch !== last) this.#batches.push(batch);
    this.memory.used += bytes;
    return bytes;
  }

  /** Removes the head batch, because it has its result or is replaced by other batches. */
  #removeHead(): void {
    const head = this.#batches.shift();
    if (head === undefined) return;
    this.memory.release(head.sizeInBytes - BATCH_OVERHEAD);
    this.#typicalBytes = Math.max(SMALLEST_CAPACITY, head.sizeInBytes);
  }

  completeHead(): void {
    this.sequence?.advance(this.head?.count ?? 0);
    this.#removeHead();
  }

  dropHead(): void {
    this.#retireSequenceNumber();
    this.#removeHead();
  }

  failAll(error: Error): void {
    for (let head = this.head; head; head = this.head) {
      head.failed(head.stateIfAbandoned, error);
      this.dropHead();
    }
  }

  /** Fails the records of calls that began by this time. `prune` removes them. */
  failCallsUntil(startedBy: number, error: Error): void {
    for (const batch of this.#batches) batch.failCallsUntil(startedBy, error);
  }

  /**
   * Removes dropped records from the head of the queue. The head batch then contains exactly the
   * records to send. Returns that batch.
   *
   * Deadlines are checked here once more, because the timer may be late:
   *
   * 1. The process is frozen while a batch waits for the response to the one before it.
   * 2. It goes on after the deadline. It reads the response before its timers fire.
   *
   * Without the check, the records would be sent although their caller has given them up.
   */
  prune(): PendingBatch | undefined {
    for (let head = this.#checkedHead(); head?.hasAbandonedRecords; head = this.#checkedHead()) {
      if (this.isHeadImmutable) {
        if (head.isAwaited) return head;
        this.dropHead();
        continue;
      }
      const rest = this.#successorOf(head);
      head.redistribute(() => rest);
      this.#replaceHead(rest);
    }
    return this.head;
  }

  /**
   * Splits the head batch, which is too large for the broker. Its halves are sent one after the
   * other, and later batches are made smaller.
   */
  splitHead(): void {
    const { head } = this;
    if (head === undefined) return;
    const first = this.#successorOf(head);
    const second = this.#successorOf(head);
    const middle = Math.ceil(head.count / 2);
    this.#largestBatch = Math.min(this.#largestBatch, Math.ceil(head.sizeInBytes / 2));
    head.redistribute((position) => (position < middle ? first : second));
    this.#replaceHead(first, second);
  }

  /** Fails the named records of the head batch, and sends the others again. */
  failRecordsOfHead(errors: ReadonlyMap<number, Error>): void {
    const { head } = this;
    if (head === undefined) return;
    const rest = this.#successorOf(head);
    head.redistribute((position) => errors.get(position) ?? rest);
    this.#replaceHead(rest);
  }

  #checkedHead(): PendingBatch | undefined {
    this.head?.dropOverdue(this.context.cluster.runtime.monotonic());
    return this.head;
  }

  #replaceHead(...successors: readonly PendingBatch[]): void {
    this.#retireSequenceNumber();
    this.#removeHead();
    const filled = successors.filter(({ count }) => count > 0);
    for (const batch of filled) this.memory.used += batch.sizeInBytes - BATCH_OVERHEAD;
    this.#batches.unshift(...filled);
  }

  /**
   * Ends the use of a sequence number that was sent, so that no other records are sent under it. A
   * broker that has stored the first bytes would treat other records as a duplicate and drop them
   * with a success code. In a transaction there is no other epoch to continue in. Its number is
   * used again if the broker has certainly refused it. Otherwise the partition cannot be written
   * any more.
   */
  #retireSequenceNumber(): void {
    const { head, sequence } = this;
    if (head === undefined || head.attempts === 0) return;
    if (sequence?.isTransactional === true && !head.mayBeWritten) return;
    sequence?.restart();
  }

  /**
   * Creates a batch for records of `batch`, with its `attempts`, `lastError` and `mayBeWritten`.
   */
  #successorOf(batch: PendingBatch): PendingBatch {
    const successor = new PendingBatch(
      this.topic,
      this.partition,
      batch.openedAt,
      batch.sizeInBytes,
    );
    successor.attempts = batch.attempts;
    successor.mayBeWritten = batch.mayBeWritten;
    successor.lastError = batch.lastError;
    return successor;
  }

  /**
   * Returns the batch for a record that may not fit into the last one. The exact size, which is
   * slow to compute, is only needed if the upper bound exceeds a limit.
   */
  #batchFor(
    record: OutgoingRecord,
    bound: number,
    last: PendingBatch | undefined,
  ): PendingBatch | undefined {
    const isBoundEnough =
      last?.isOpen !== true && bound <= this.#largestRecord && this.memory.has(bound);
    const size = isBoundEnough
      ? bound
      : sizeOfRecord(record, LONGEST_TIMESTAMP_DELTA, LONGEST_OFFSET_DELTA);
    if (size > this.#largestRecord) throw this.#tooLargeError(size, record);
    if (!this.memory.has(size)) return undefined;
    if (last?.isOpen === true && last.sizeInBytes + size <= this.#largestBatch) return last;
    return new PendingBatch(
      this.topic,
      this.partition,
      this.context.cluster.runtime.monotonic(),
      Math.min(Math.max(this.#typicalBytes, BATCH_OVERHEAD + size), this.#largestBatch),
    );
  }

  #tooLargeError(size: number, record: OutgoingRecord): RecordTooLargeError {
    const { maxRequestBytes, bufferBytes } = this.context.options;
    const option = bufferBytes < maxRequestBytes ? 'bufferBytes' : 'maxRequestBytes';
    return new RecordTooLargeError(
      `A record for "${record.topic}" takes ${size} bytes; the producer's ${option} leaves room for ${this.#largestRecord}. Send less in one record, or raise ${option} (and the topic's max.message.bytes).`,
    );
  }
}
