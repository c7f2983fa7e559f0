import type { OutgoingRecord } from '../../../port/record.js';
import { RecordTooLargeError } from '../../../port/errors.js';
import { BATCH_OVERHEAD, maxSizeOfRecord, sizeOfRecord } from '../../../records/index.js';
import { Backoff } from '../../../runtime/index.js';
import type { MemoryBudget } from './memory-budget.js';
import { PartitionSequence } from '../idempotence/partition-sequence.js';
import { PendingBatch } from './pending-batch.js';
import type { SendCall } from '../send-call.js';
import { RETRY_BACKOFF, REQUEST_OVERHEAD, type SenderContext } from '../sender-options.js';

export type QueueState =
  /** Nothing to send. */
  | 'empty'
  /** Waits for a producer id, or for its place in a transaction. */
  | 'unidentified'
  /** In its leader's line. */
  | 'in-line'
  /** Its head batch is under way: nothing of this partition leaves before the answer. */
  | 'under-way'
  /** Its head batch waits to be tried again: nothing overtakes it. */
  | 'recovering';

/** Deltas at their longest, so that a size is never told too small. */
const LONGEST_TIMESTAMP_DELTA = 2 ** 50;
const LONGEST_OFFSET_DELTA = 2 ** 31 - 1;
const SMALLEST_CAPACITY = 4_096;

/** The batches of one partition, in the order in which they are written. Records are added to the last one. */
export class PartitionQueue {
  state: QueueState = 'empty';
  readonly backoff: Backoff;
  /** undefined where the producer is not idempotent. */
  readonly sequence: PartitionSequence | undefined;
  /** Of the latest acknowledged record, in this session. */
  lastOffset = -1;
  readonly #batches: PendingBatch[] = [];
  #typicalBytes = SMALLEST_CAPACITY;
  #largestBatch: number;

  constructor(
    readonly topic: string,
    readonly partition: number,
    private readonly context: SenderContext,
    private readonly memory: MemoryBudget,
  ) {
    this.backoff = new Backoff(context.cluster.runtime, RETRY_BACKOFF);
    this.sequence = context.options.idempotent ? new PartitionSequence() : undefined;
    this.#largestBatch = context.options.maxRequestBytes - REQUEST_OVERHEAD;
  }

  get head(): PendingBatch | undefined {
    return this.#batches[0];
  }

  /**
   * The head may be in the log under its sequence number. Other bytes under the same number would
   * be taken for a repetition and lost, the same records under another one could be written twice:
   * it is sent again as it is, or given up.
   */
  get isHeadFixed(): boolean {
    return this.sequence !== undefined && this.head?.mayBeWritten === true;
  }

  get length(): number {
    return this.#batches.length;
  }

  /** Encodes the record and returns its bytes, 0 when there is no memory for it now; throws when it can never be sent. */
  append(call: SendCall, index: number, record: OutgoingRecord): number {
    const bound = maxSizeOfRecord(record);
    const last = this.#batches.at(-1);
    const fits =
      last?.isOpen === true &&
      last.sizeInBytes + bound <= this.#largestBatch &&
      this.memory.has(bound);
    const batch = fits ? last : this.#batchFor(call, record, last);
    if (batch === undefined) return 0;
    const bytes = batch.append(call, index, record);
    if (batch !== last) this.#batches.push(batch);
    this.memory.take(bytes);
    return bytes;
  }

  /** The head is settled, or nobody needs it any more. */
  #removeHead(): void {
    const head = this.#batches.shift();
    if (head === undefined) return;
    this.memory.release(head.sizeInBytes - BATCH_OVERHEAD);
    this.#typicalBytes = Math.max(SMALLEST_CAPACITY, head.sizeInBytes);
  }

  headWritten(): void {
    this.sequence?.written(this.head?.count ?? 0);
    this.#removeHead();
  }

  giveUpHead(): void {
    this.#forsakeNumber();
    this.#removeHead();
  }

  failAll(error: Error): void {
    for (let head = this.head; head; head = this.head) {
      head.failed(head.fateIfGivenUp, error);
      this.giveUpHead();
    }
  }

  /** Drops from the front what has no open record; the head is then exactly what is to be sent. */
  prune(): PendingBatch | undefined {
    for (let head = this.head; head?.hasLeavers; head = this.head) {
      if (this.isHeadFixed) {
        if (head.isAwaited) return head;
        this.giveUpHead();
        continue;
      }
      const rest = this.#successorOf(head);
      head.redistribute(() => rest);
      this.#replaceHead(rest);
    }
    return this.head;
  }

  /** Too large for the broker: the halves go one after the other, and later batches are made smaller. */
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

  /** Fails some records of the head; the others are to be sent again. */
  failInHead(errors: ReadonlyMap<number, Error>): void {
    const { head } = this;
    if (head === undefined) return;
    const rest = this.#successorOf(head);
    head.redistribute((position) => errors.get(position) ?? rest);
    this.#replaceHead(rest);
  }

  #replaceHead(...successors: readonly PendingBatch[]): void {
    this.#forsakeNumber();
    this.#removeHead();
    const filled = successors.filter(({ count }) => count > 0);
    for (const batch of filled) this.memory.take(batch.sizeInBytes - BATCH_OVERHEAD);
    this.#batches.unshift(...filled);
  }

  /**
   * A number that has left with some bytes is never used for others: should a broker have them
   * against all it says, it would take the others for a repetition, and drop them with success.
   * A transaction has no other epoch to go on in: there a number that was surely refused is used
   * again, and after any other the partition is at its end.
   */
  #forsakeNumber(): void {
    const { head, sequence } = this;
    if (head === undefined || head.attempts === 0) return;
    if (sequence?.isTransactional === true && !head.mayBeWritten) return;
    sequence?.restart();
  }

  /** A batch for records of `batch`, with its history. */
  #successorOf(batch: PendingBatch): PendingBatch {
    const successor = new PendingBatch(
      this.topic,
      this.partition,
      batch.openedAt,
      batch.sizeInBytes,
    );
    successor.attempts = batch.attempts;
    successor.mayBeWritten = batch.mayBeWritten;
    successor.trouble = batch.trouble;
    return successor;
  }

  #batchFor(
    call: SendCall,
    record: OutgoingRecord,
    last: PendingBatch | undefined,
  ): PendingBatch | undefined {
    const size = sizeOfRecord(record, LONGEST_TIMESTAMP_DELTA, LONGEST_OFFSET_DELTA);
    this.#refuseIfTooLarge(size, record);
    if (!this.memory.has(size)) return undefined;
    if (last?.isOpen === true && last.sizeInBytes + size <= this.#largestBatch) return last;
    return new PendingBatch(
      this.topic,
      this.partition,
      this.context.cluster.runtime.monotonic(),
      Math.min(Math.max(this.#typicalBytes, BATCH_OVERHEAD + size), this.#largestBatch),
    );
  }

  #refuseIfTooLarge(size: number, record: OutgoingRecord): void {
    const { maxRequestBytes, bufferBytes } = this.context.options;
    const limit = Math.min(maxRequestBytes - REQUEST_OVERHEAD - BATCH_OVERHEAD, bufferBytes);
    if (size <= limit) return;
    const option = bufferBytes < maxRequestBytes ? 'bufferBytes' : 'maxRequestBytes';
    throw new RecordTooLargeError(
      `A record for "${record.topic}" takes ${size} bytes; the producer's ${option} leaves room for ${limit}. Send less in one record, or raise ${option} (and the topic's max.message.bytes).`,
    );
  }
}
