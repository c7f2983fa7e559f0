import { BufferFullError } from '../../../port/errors.js';
import type { OutgoingRecord } from '../../../port/record.js';
import { PendingRecords, type Blocker } from './pending-records.js';
import type { MemoryBudget, PartitionQueue } from './partition-queue.js';
import type { SendCall } from '../send-call.js';
import type { SenderContext } from '../sender-context.js';
import { ProducerTopic } from './producer-topic.js';

/** Callbacks of the accumulator to its owner. */
export interface AccumulatorEvents {
  /** Called when a record was appended to the queue. */
  onQueueFilled(queue: PartitionQueue): void;
  /**
   * Called when the limit of bytes for this turn of the event loop is reached. The owner calls
   * `startTurn` in the next turn.
   */
  onTurnUsedUp(): void;
}

/**
 * Encodes the records of all calls into the queues of their partitions, call by call and record by
 * record. The accumulator pauses if no memory is available. It also pauses after the bytes of one
 * request, so that a huge `send` does not block the process and delays its own first request only
 * briefly.
 */
export class RecordAccumulator implements Blocker {
  readonly #topics = new Map<string, ProducerTopic>();
  #pending: PendingRecords[] = [];
  #bytesLeftInTurn: number;
  #lastTopic: ProducerTopic | undefined;

  constructor(
    private readonly context: SenderContext,
    private readonly memory: MemoryBudget,
    private readonly events: AccumulatorEvents,
  ) {
    this.#bytesLeftInTurn = context.options.maxRequestBytes;
  }

  /** True if records wait for memory. */
  get isBlocked(): boolean {
    return this.#pending.length > 0;
  }

  add(call: SendCall): void {
    this.#pending.push(new PendingRecords(call, this));
    if (this.#pending.length === 1) this.encodePending();
  }

  startTurn(): void {
    this.#bytesLeftInTurn = this.context.options.maxRequestBytes;
    this.encodePending();
  }

  timeoutError(call: SendCall): Error {
    const { bufferBytes } = this.context.options;
    return new BufferFullError(
      `The producer's buffer of ${bufferBytes} bytes was full for ${call.timing.timeoutMs} ms: the brokers accept less than is sent. Send less at a time, or raise bufferBytes.`,
    );
  }

  stop(): void {
    for (const topic of this.#topics.values()) topic.stop();
    this.#pending = [];
  }

  /** Encodes the records that wait, as far as memory and the limit of this turn allow. */
  encodePending(): void {
    if (this.#pending.length === 0) return;
    this.#lastTopic = undefined;
    let done = 0;
    for (const records of this.#pending) {
      if (!this.#encodeAll(records)) break;
      done++;
    }
    this.#pending.splice(0, done);
  }

  /** Returns false if some of the records still have to wait. */
  #encodeAll(records: PendingRecords): boolean {
    while (!records.isEmpty) {
      if (this.#bytesLeftInTurn <= 0) {
        this.events.onTurnUsedUp();
        return false;
      }
      if (!this.#encodeNext(records)) return false;
    }
    return true;
  }

  /**
   * Encodes one record into its queue, keeps it until its topic is known, or fails it. Returns
   * false if no memory is available.
   */
  #encodeNext(records: PendingRecords): boolean {
    const { call, index } = records;
    const record = call.records[index] as OutgoingRecord;
    try {
      const topic = this.#topic(record.topic);
      const queue = topic.queueFor(call, record);
      if (queue === undefined) topic.holdBack(call, index);
      else {
        const bytes = queue.append(call, index, record);
        if (bytes === 0) return false;
        this.#bytesLeftInTurn -= bytes;
        if (record.partition === undefined && (record.key ?? null) === null)
          topic.sticky.bytes += bytes;
        this.events.onQueueFilled(queue);
      }
      records.advance();
    } catch (error) {
      records.advance();
      call.failed(index, 'not-written', error as Error);
    }
    return true;
  }

  #topic(name: string): ProducerTopic {
    if (this.#lastTopic?.name === name) return this.#lastTopic;
    let topic = this.#topics.get(name);
    if (topic === undefined) {
      topic = new ProducerTopic(name, this.context, this.memory, this.#resumeTopic);
      this.#topics.set(name, topic);
    }
    topic.syncWithMetadata();
    this.#lastTopic = topic;
    return topic;
  }

  /** Encodes records that waited for their topic before those of later calls, to keep the order. */
  readonly #resumeTopic = (pending: readonly PendingRecords[]): void => {
    for (const records of pending) records.blocker = this;
    this.#pending = [...pending, ...this.#pending];
    this.encodePending();
  };
}
