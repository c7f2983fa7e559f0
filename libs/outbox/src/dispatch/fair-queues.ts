import { BoundedQueue } from './bounded-queue.js';
import type { EventSource, QueuedEvent } from './queued-event.js';

const TURNS: readonly EventSource[] = ['HOT', 'HOT', 'COLD'];

/**
 * A hot and a cold queue. Two hot events are taken for each cold one, so that neither starves. If
 * the queue of the turn is empty, the other one has it. An event that is queued already is accepted
 * and not queued a second time.
 */
export class FairQueues {
  readonly #queues: Readonly<Record<EventSource, BoundedQueue<QueuedEvent>>>;
  readonly #ids = new Set<string>();
  #turn = 0;

  constructor(hotCapacity: number, coldCapacity: number) {
    this.#queues = {
      HOT: new BoundedQueue('hotQueueCapacity', hotCapacity),
      COLD: new BoundedQueue('coldQueueCapacity', coldCapacity),
    };
  }

  get hotSize(): number {
    return this.#queues.HOT.size;
  }

  get coldSize(): number {
    return this.#queues.COLD.size;
  }

  get coldRemaining(): number {
    return this.#queues.COLD.remaining;
  }

  has(eventId: string): boolean {
    return this.#ids.has(eventId);
  }

  offer(event: QueuedEvent): boolean {
    const accepted = this.#queues[event.source].offer(event);
    if (accepted) this.#ids.add(event.envelope.eventId);
    return accepted;
  }

  take(): QueuedEvent | undefined {
    const source = TURNS[this.#turn++ % TURNS.length] ?? 'HOT';
    const other = source === 'HOT' ? 'COLD' : 'HOT';
    const event = this.#queues[source].take() ?? this.#queues[other].take();
    if (event) this.#ids.delete(event.envelope.eventId);
    return event;
  }

  clear(): void {
    this.#queues.HOT.clear();
    this.#queues.COLD.clear();
    this.#ids.clear();
  }
}
