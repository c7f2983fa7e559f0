import type { TopicDescription } from '../../../port/admin.js';
import {
  BufferFullError,
  RecordTooLargeError,
  RequestTimeoutError,
  UnknownPartitionError,
  UnknownTopicError,
} from '../../../port/errors.js';
import type { SendOptions } from '../../../port/producer.js';
import type { OutgoingRecord, WrittenRecord } from '../../../port/record.js';
import { BATCH_OVERHEAD, maxSizeOfRecord, sizeOfRecord } from '../../../records/index.js';
import type { Connection } from '../connection.js';
import { partitionName } from '../../../port/topic-partition.js';
import { toBrokerError } from '../refusal-errors.js';
import { PartitionQueue, type QueueContext } from './partition-queue.js';
import { Partitioner } from './partitioner.js';
import { SendCall } from './send-call.js';
import { TopicDirectory } from './topic-directory.js';

/** A record that is not in a queue yet. */
interface UnqueuedRecord {
  readonly call: SendCall;
  readonly index: number;
  readonly record: OutgoingRecord;
}

/**
 * Puts records into the queues of their partitions. A record may have to wait for the metadata of
 * its topic, in one line per topic, and then for buffer memory, in a single line. Both lines keep
 * the order of the calls.
 */
export class Accumulator {
  readonly #queues = new Map<string, PartitionQueue>();
  readonly #partitioner: Partitioner;
  readonly #topics: TopicDirectory;
  readonly #awaitingTopic = new Map<string, UnqueuedRecord[]>();
  #awaitingBuffer: UnqueuedRecord[] = [];
  readonly #changedQueues = new Set<PartitionQueue>();
  readonly #unsubscribe: () => void;

  constructor(
    connection: Connection,
    private readonly context: Omit<QueueContext, 'onTopicMissing'>,
  ) {
    this.#partitioner = new Partitioner(context.runtime, context.options.batchBytes);
    this.#topics = new TopicDirectory(connection, context.signal);
    this.#unsubscribe = context.budget.onFreed(() => {
      this.#fillQueues();
      this.#sendChanged();
    });
  }

  async send(
    records: readonly OutgoingRecord[],
    { timeoutMs, signal }: SendOptions,
  ): Promise<readonly WrittenRecord[]> {
    const { runtime, options } = this.context;
    const limitMs = Math.min(timeoutMs ?? Infinity, options.deliveryTimeoutMs);
    const isAlone = timeoutMs !== undefined || signal !== undefined;
    const startedAt = runtime.monotonic();
    const call = new SendCall(records, runtime.now(), startedAt, startedAt + limitMs, isAlone);
    const late = runtime.setTimer(() => this.#cancel(call, undefined, limitMs), limitMs);
    const abort = (): void => this.#cancel(call, asError(signal?.reason), limitMs);
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
    try {
      for (const [index, record] of records.entries()) this.#add({ call, index, record });
      this.#sendChanged();
      return await call.done;
    } finally {
      late.cancel();
      signal?.removeEventListener('abort', abort);
    }
  }

  flush(): void {
    for (const queue of this.#queues.values()) queue.flush();
  }

  /** Fails all records that are in no queue yet, and stops sending. */
  end(error: Error): void {
    this.#unsubscribe();
    for (const unqueued of this.#unqueued())
      unqueued.call.fail(unqueued.index, 'not-written', error);
    this.#awaitingTopic.clear();
    this.#awaitingBuffer = [];
  }

  #add(unqueued: UnqueuedRecord): void {
    const { call, index, record } = unqueued;
    if (call.cancellation) return call.fail(index, 'not-written', call.cancellation);
    const line = this.#awaitingTopic.get(record.topic);
    const topic = line ? undefined : this.#topics.find(record.topic);
    if (!topic || !hasPartition(topic, record)) return this.#awaitTopic(unqueued);
    this.#awaitingBuffer.push(unqueued);
    this.#fillQueues();
  }

  #awaitTopic(unqueued: UnqueuedRecord): void {
    const { topic } = unqueued.record;
    const line = this.#awaitingTopic.get(topic) ?? [];
    line.push(unqueued);
    this.#awaitingTopic.set(topic, line);
    this.#topics.watch(
      topic,
      () => this.#awaitingTopic.has(topic),
      ({ found }) => (found ? this.#topicFound(found) : this.#topicMissing(topic)),
    );
  }

  #topicFound(topic: TopicDescription): void {
    const line = this.#awaitingTopic.get(topic.name) ?? [];
    this.#awaitingTopic.delete(topic.name);
    for (const unqueued of line) {
      const { call, index, record } = unqueued;
      if (hasPartition(topic, record)) this.#awaitingBuffer.push(unqueued);
      else call.fail(index, 'not-written', unknownPartitionError(record));
    }
    this.#fillQueues();
    this.#sendChanged();
  }

  #topicMissing(topic: string): void {
    const { runtime, options } = this.context;
    const latestStart = runtime.monotonic() - options.missingTopicTimeoutMs;
    const line = this.#awaitingTopic.get(topic) ?? [];
    const left = line.filter(({ call }) => call.startedAt > latestStart);
    if (left.length > 0) this.#awaitingTopic.set(topic, left);
    else this.#awaitingTopic.delete(topic);
    for (const { call, index } of line.filter((unqueued) => !left.includes(unqueued)))
      call.fail(index, 'not-written', new UnknownTopicError(topic));
  }

  #fillQueues(): void {
    const line = this.#awaitingBuffer;
    let placed = 0;
    while (placed < line.length && this.#enqueue(line[placed])) placed += 1;
    if (placed > 0) this.#awaitingBuffer = line.slice(placed);
    if (this.#awaitingBuffer.length === 0) return;
    // Buffer memory is released only when batches are completed, so waiting batches are sent now.
    this.flush();
  }

  /** Returns false if the record must wait for buffer memory. */
  #enqueue(unqueued: UnqueuedRecord | undefined): boolean {
    if (!unqueued) return true;
    const { call, index, record } = unqueued;
    const bytes = this.#sizeOf(record);
    if (bytes === undefined) {
      call.fail(index, 'not-written', tooLargeError(record, this.#limit));
      return true;
    }
    if (!this.context.budget.tryReserve(bytes)) return false;
    const queue = this.#queueFor(record, bytes);
    queue.add({ call, index, record, bytes, timestamp: record.timestamp ?? call.calledAt });
    this.#changedQueues.add(queue);
    return true;
  }

  #sendChanged(): void {
    for (const queue of this.#changedQueues) queue.sendReady();
    this.#changedQueues.clear();
  }

  #cancel(call: SendCall, reason: Error | undefined, limitMs: number): void {
    call.cancellation = reason ?? timedOutError(limitMs);
    for (const unqueued of this.#unqueued()) {
      if (unqueued.call !== call) continue;
      call.fail(unqueued.index, 'not-written', reason ?? this.#timeoutError(unqueued, limitMs));
    }
    for (const [topic, line] of this.#awaitingTopic) {
      const left = line.filter((unqueued) => unqueued.call !== call);
      if (left.length > 0) this.#awaitingTopic.set(topic, left);
      else this.#awaitingTopic.delete(topic);
    }
    this.#awaitingBuffer = this.#awaitingBuffer.filter((unqueued) => unqueued.call !== call);
    for (const queue of this.#queues.values()) queue.cancel(call, call.cancellation);
  }

  #timeoutError({ record }: UnqueuedRecord, limitMs: number): Error {
    const { topic } = record;
    if (this.#awaitingTopic.has(topic))
      return this.#topics.errors.get(topic) ?? new UnknownTopicError(topic);
    return new BufferFullError(
      `The sender's buffer of ${this.context.options.bufferBytes} bytes stayed full for ${limitMs} ms. Send slower, or raise bufferBytes.`,
    );
  }

  #unqueued(): readonly UnqueuedRecord[] {
    return [...this.#awaitingBuffer, ...[...this.#awaitingTopic.values()].flat()];
  }

  get #limit(): number {
    const { maxRequestBytes, bufferBytes } = this.context.options;
    return Math.min(maxRequestBytes, bufferBytes) - BATCH_OVERHEAD;
  }

  #sizeOf(record: OutgoingRecord): number | undefined {
    const bound = maxSizeOfRecord(record);
    if (bound <= this.#limit) return bound;
    const bytes = sizeOfRecord(record, 0, 0);
    return bytes <= this.#limit ? bytes : undefined;
  }

  #queueFor(record: OutgoingRecord, bytes: number): PartitionQueue {
    const { topic } = record;
    const partition = record.partition ?? this.#choose(record, bytes);
    const to = { topic, partition };
    const known = this.#queues.get(partitionName(to));
    if (known) return known;
    const onTopicMissing = (): void => this.#topics.invalidate(topic);
    const queue = new PartitionQueue(to, { ...this.context, onTopicMissing });
    this.#queues.set(partitionName(to), queue);
    return queue;
  }

  #choose(record: OutgoingRecord, bytes: number): number {
    const partitions = this.#topics.latest(record.topic)?.partitions ?? [];
    const led = partitions.filter(({ leader }) => leader >= 0).map((each) => each.partition);
    return this.#partitioner.choose(record, partitions.length, led, bytes);
  }
}

function hasPartition({ partitions }: TopicDescription, { partition }: OutgoingRecord): boolean {
  return partition === undefined || partition < partitions.length;
}

function unknownPartitionError({ topic, partition = -1 }: OutgoingRecord): UnknownPartitionError {
  return new UnknownPartitionError({ topic, partition });
}

function tooLargeError({ topic }: OutgoingRecord, limit: number): RecordTooLargeError {
  return new RecordTooLargeError(
    `A record for topic "${topic}" takes more than the ${limit} bytes that the sender allows (maxRequestBytes, bufferBytes). Send a smaller one, or raise the limit.`,
  );
}

function timedOutError(limitMs: number): RequestTimeoutError {
  return new RequestTimeoutError(
    `The record could not be sent within ${limitMs} ms, and is dropped. Send it again, or raise deliveryTimeoutMs.`,
  );
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : toBrokerError(reason);
}
