import { BufferFullError } from '../../../port/errors.js';
import { Arrival, type Obstacle } from './pending-records.js';
import type { MemoryBudget } from './memory-budget.js';
import type { PartitionQueue } from './partition-queue.js';
import type { SendCall } from '../send-call.js';
import type { SenderContext } from '../sender-options.js';
import { TopicEntry } from './topic-entry.js';

/** What of the intake's surroundings it calls. */
export interface IntakeEvents {
  /** The queue has something new. */
  filled(queue: PartitionQueue): void;
  /** Enough for one turn: call `advance` again soon. */
  turnOver(): void;
}

/**
 * The way in: calls line up, and record by record they are encoded into the queue of their
 * partition. The line moves on while there is memory, and takes a turn's worth of bytes at a
 * time, so that a huge `send` neither blocks the process nor delays its own first request.
 */
export class Intake implements Obstacle {
  readonly #topics = new Map<string, TopicEntry>();
  #line: Arrival[] = [];
  #turnLeft: number;
  #latest: TopicEntry | undefined;

  constructor(
    private readonly context: SenderContext,
    private readonly memory: MemoryBudget,
    private readonly events: IntakeEvents,
  ) {
    this.#turnLeft = context.options.maxRequestBytes;
  }

  /** Records stand in line because there is no memory for them. */
  get isBlocked(): boolean {
    return this.#line.length > 0;
  }

  enter(call: SendCall): void {
    this.#line.push(new Arrival(call, this));
    if (this.#line.length === 1) this.#advance();
  }

  newTurn(): void {
    this.#turnLeft = this.context.options.maxRequestBytes;
    this.#advance();
  }

  /** Memory was released. */
  advance(): void {
    if (this.#line.length > 0) this.#advance();
  }

  explain(call: SendCall): Error {
    const { bufferBytes } = this.context.options;
    return new BufferFullError(
      `The producer's buffer of ${bufferBytes} bytes was full for ${call.clock.timeoutMs} ms: the brokers accept less than is sent. Send less at a time, or raise bufferBytes.`,
    );
  }

  stop(): void {
    for (const topic of this.#topics.values()) topic.stop();
    this.#line = [];
  }

  #advance(): void {
    this.#latest = undefined;
    let done = 0;
    for (const arrival of this.#line) {
      if (!this.#take(arrival)) break;
      done++;
    }
    this.#line.splice(0, done);
  }

  /** False when the arrival has to stay in line. */
  #take(arrival: Arrival): boolean {
    while (!arrival.isEmpty) {
      if (this.#turnLeft <= 0) {
        this.events.turnOver();
        return false;
      }
      if (!this.#place(arrival)) return false;
    }
    return true;
  }

  /** Finds the place of one record: a queue, its topic's waiting room, or failure. */
  #place(arrival: Arrival): boolean {
    const { call, index, record } = arrival;
    try {
      const topic = this.#topic(record.topic);
      const queue = topic.queueFor(call, record);
      if (queue === undefined) topic.keep(call, index);
      else {
        const bytes = queue.append(call, index, record);
        if (bytes === 0) return false;
        this.#turnLeft -= bytes;
        if (record.partition === undefined && (record.key ?? null) === null) topic.stuck(bytes);
        this.events.filled(queue);
      }
      arrival.pass();
    } catch (error) {
      arrival.pass();
      call.failed(index, 'not-written', error as Error);
    }
    return true;
  }

  #topic(name: string): TopicEntry {
    if (this.#latest?.name === name) return this.#latest;
    let entry = this.#topics.get(name);
    if (entry === undefined) {
      entry = new TopicEntry(name, this.context, this.memory, (arrivals) =>
        this.#readmit(arrivals),
      );
      this.#topics.set(name, entry);
    }
    entry.look();
    this.#latest = entry;
    return entry;
  }

  /** Those who waited for their topic come before whoever came later. */
  #readmit(arrivals: readonly Arrival[]): void {
    for (const arrival of arrivals) arrival.obstacle = this;
    this.#line = [...arrivals, ...this.#line];
    this.#advance();
  }
}
