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
import type { Link } from '../link.js';
import { nameOf } from '../partition-name.js';
import { toBrokerError } from '../refusal-errors.js';
import { PartitionQueue, type QueueParts } from './partition-queue.js';
import { Partitioner } from './partitioner.js';
import { SendCall } from './send-call.js';
import { TopicDirectory } from './topic-directory.js';

/** A record that has no place in a queue yet. */
interface Arrival {
  readonly call: SendCall;
  readonly index: number;
  readonly record: OutgoingRecord;
}

/**
 * Sorts records into the queues of their partitions, at once where it can. A record may have to
 * wait for its topic, in a line of its own for each, and then for room in the buffer, where all
 * stand in one line: the order of the calls is kept in either.
 */
export class Accumulator {
  readonly #queues = new Map<string, PartitionQueue>();
  readonly #partitioner: Partitioner;
  readonly #topics: TopicDirectory;
  readonly #awaitingTopic = new Map<string, Arrival[]>();
  #awaitingRoom: Arrival[] = [];
  readonly #touched = new Set<PartitionQueue>();
  readonly #endOfListening: () => void;

  constructor(
    link: Link,
    private readonly parts: Omit<QueueParts, 'onTopicMissing'>,
  ) {
    this.#partitioner = new Partitioner(parts.runtime, parts.options.batchBytes);
    this.#topics = new TopicDirectory(link, parts.signal);
    this.#endOfListening = parts.budget.onFreed(() => {
      this.#fillRoom();
      this.#kick();
    });
  }

  async send(
    records: readonly OutgoingRecord[],
    { timeoutMs, signal }: SendOptions,
  ): Promise<readonly WrittenRecord[]> {
    const { runtime, options } = this.parts;
    const limitMs = Math.min(timeoutMs ?? Infinity, options.deliveryTimeoutMs);
    const isAlone = timeoutMs !== undefined || signal !== undefined;
    const deadline = runtime.monotonic() + limitMs;
    const call = new SendCall(records, runtime.now(), deadline, isAlone);
    const late = runtime.setTimer(() => this.#giveUp(call, undefined, limitMs), limitMs);
    const abort = (): void => this.#giveUp(call, asError(signal?.reason), limitMs);
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
    try {
      for (const [index, record] of records.entries()) this.#arrive({ call, index, record });
      this.#kick();
      return await call.done;
    } finally {
      late.cancel();
      signal?.removeEventListener('abort', abort);
    }
  }

  flush(): void {
    for (const queue of this.#queues.values()) queue.flush();
  }

  /** What has no place yet gets none, and nothing more will be sent. */
  end(error: Error): void {
    this.#endOfListening();
    for (const arrival of this.#unplaced()) arrival.call.fail(arrival.index, 'not-written', error);
    this.#awaitingTopic.clear();
    this.#awaitingRoom = [];
  }

  #arrive(arrival: Arrival): void {
    const { call, index, record } = arrival;
    if (call.givenUp) return call.fail(index, 'not-written', call.givenUp);
    const line = this.#awaitingTopic.get(record.topic);
    const topic = line ? undefined : this.#topics.find(record.topic);
    if (!topic || !hasPartition(topic, record)) return this.#awaitTopic(arrival);
    this.#awaitingRoom.push(arrival);
    this.#fillRoom();
  }

  #awaitTopic(arrival: Arrival): void {
    const { topic } = arrival.record;
    const line = this.#awaitingTopic.get(topic) ?? [];
    line.push(arrival);
    this.#awaitingTopic.set(topic, line);
    this.#topics.watch(
      topic,
      () => this.#awaitingTopic.has(topic),
      ({ found }) => found && this.#topicFound(found),
    );
  }

  #topicFound(topic: TopicDescription): void {
    const line = this.#awaitingTopic.get(topic.name) ?? [];
    this.#awaitingTopic.delete(topic.name);
    for (const arrival of line) {
      const { call, index, record } = arrival;
      if (hasPartition(topic, record)) this.#awaitingRoom.push(arrival);
      else call.fail(index, 'not-written', noPartition(record));
    }
    this.#fillRoom();
    this.#kick();
  }

  #fillRoom(): void {
    const line = this.#awaitingRoom;
    let placed = 0;
    while (placed < line.length && this.#place(line[placed])) placed += 1;
    if (placed > 0) this.#awaitingRoom = line.slice(placed);
    if (this.#awaitingRoom.length === 0) return;
    // Only what leaves makes room.
    this.flush();
  }

  /** False when it has to wait for room. */
  #place(arrival: Arrival | undefined): boolean {
    if (!arrival) return true;
    const { call, index, record } = arrival;
    const bytes = this.#sizeOf(record);
    if (bytes === undefined) {
      call.fail(index, 'not-written', tooLarge(record, this.#limit));
      return true;
    }
    if (!this.parts.budget.tryTake(bytes)) return false;
    const queue = this.#queueFor(record, bytes);
    queue.add({ call, index, record, bytes, timestamp: record.timestamp ?? call.calledAt });
    this.#touched.add(queue);
    return true;
  }

  #kick(): void {
    for (const queue of this.#touched) queue.kick();
    this.#touched.clear();
  }

  #giveUp(call: SendCall, reason: Error | undefined, limitMs: number): void {
    call.givenUp = reason ?? tooLate(limitMs);
    for (const arrival of this.#unplaced()) {
      if (arrival.call !== call) continue;
      call.fail(arrival.index, 'not-written', reason ?? this.#explain(arrival, limitMs));
    }
    for (const [topic, line] of this.#awaitingTopic) {
      const left = line.filter((arrival) => arrival.call !== call);
      if (left.length > 0) this.#awaitingTopic.set(topic, left);
      else this.#awaitingTopic.delete(topic);
    }
    this.#awaitingRoom = this.#awaitingRoom.filter((arrival) => arrival.call !== call);
    for (const queue of this.#queues.values()) queue.giveUp(call, call.givenUp);
  }

  #explain({ record }: Arrival, limitMs: number): Error {
    const { topic } = record;
    if (this.#awaitingTopic.has(topic))
      return this.#topics.errors.get(topic) ?? new UnknownTopicError(topic);
    return new BufferFullError(
      `The sender's buffer of ${this.parts.options.bufferBytes} bytes stayed full for ${limitMs} ms. Send slower, or raise bufferBytes.`,
    );
  }

  #unplaced(): readonly Arrival[] {
    return [...this.#awaitingRoom, ...[...this.#awaitingTopic.values()].flat()];
  }

  get #limit(): number {
    const { maxRequestBytes, bufferBytes } = this.parts.options;
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
    const known = this.#queues.get(nameOf(to));
    if (known) return known;
    const onTopicMissing = (): void => this.#topics.forget(topic);
    const queue = new PartitionQueue(to, { ...this.parts, onTopicMissing });
    this.#queues.set(nameOf(to), queue);
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

function noPartition({ topic, partition = -1 }: OutgoingRecord): UnknownPartitionError {
  return new UnknownPartitionError({ topic, partition });
}

function tooLarge({ topic }: OutgoingRecord, limit: number): RecordTooLargeError {
  return new RecordTooLargeError(
    `A record for topic "${topic}" takes more than the ${limit} bytes that the sender allows (maxRequestBytes, bufferBytes). Send a smaller one, or raise the limit.`,
  );
}

function tooLate(limitMs: number): RequestTimeoutError {
  return new RequestTimeoutError(
    `The record had not left when its ${limitMs} ms were over, and will not be sent.`,
  );
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : toBrokerError(reason);
}
