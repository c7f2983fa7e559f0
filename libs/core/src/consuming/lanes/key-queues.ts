import type { Backoff, Runtime, Timer } from '@nest-event-bus/broker/runtime';
import type { LaneDelivery } from './lane-delivery.js';
import type { RecordWait } from '../../model/outcomes/delivery-history.js';

/** Records without a key share the key null, so they stay in order among themselves. */
export type Key = string | number | null;

/** Unfinished records of one key. */
export interface KeyQueue {
  readonly key: Key;
  readonly waiting: LaneDelivery[];
  /** True while a handler runs, or while the next record must not begin yet. */
  isBusy: boolean;
  backoff?: Backoff;
  /** Timer of the first record's wait. The other records wait behind it. */
  timer?: Timer;
}

export interface KeyQueuesParts {
  readonly runtime: Pick<Runtime, 'monotonic' | 'setTimer'>;
  /** Called when the wait of a queue's first record is over. */
  onReady(): void;
  /** Called when the first record of a queue begins to wait. */
  onWait(delivery: LaneDelivery, wait: RecordWait): void;
}

/** Queues of the records that wait behind others of their key, and the keys whose turn it is. */
export class KeyQueues {
  readonly #queues = new Map<Key, KeyQueue>();
  /** Queues whose first record may begin. */
  readonly #ready: KeyQueue[] = [];
  #waiting = 0;
  /** Waiting records in queues whose first record waits for a timer. */
  #delayed = 0;

  constructor(private readonly parts: KeyQueuesParts) {}

  /** Number of waiting records. */
  get size(): number {
    return this.#waiting;
  }

  /** Number of records that wait only for a running handler. */
  get inLine(): number {
    return this.#waiting - this.#delayed;
  }

  get isReady(): boolean {
    return this.#ready.length > 0;
  }

  /** Takes the queue that became ready first. */
  nextReady(): KeyQueue {
    return this.#ready.shift() as KeyQueue;
  }

  /** Adds a record. Returns its queue if it is alone there. */
  add(key: Key, delivery: LaneDelivery): KeyQueue | undefined {
    this.#waiting++;
    const taken = this.#queues.get(key);
    if (!taken) return this.#open(key, [delivery]);
    taken.waiting.push(delivery);
    if (taken.timer) this.#delayed++;
    return undefined;
  }

  /** Blocks a key until its queue is freed. */
  block(key: Key): KeyQueue {
    const queue = this.#open(key, []);
    queue.isBusy = true;
    return queue;
  }

  /** Takes the first record of a queue; returns undefined if that has to wait. */
  take(queue: KeyQueue): LaneDelivery | undefined {
    const first = queue.waiting[0] as LaneDelivery;
    if (this.#mustWait(queue, first)) return undefined;
    queue.waiting.shift();
    queue.isBusy = true;
    this.#waiting--;
    return first;
  }

  /** Puts a record back in front of its queue. */
  putBack(queue: KeyQueue, delivery: LaneDelivery): void {
    queue.waiting.unshift(delivery);
    queue.isBusy = false;
    this.#waiting++;
    if (!this.#mustWait(queue, delivery)) this.#ready.push(queue);
  }

  /** Frees the queue after its record has finished, so that the next one gets its turn. */
  free(queue: KeyQueue): void {
    queue.isBusy = false;
    if (queue.waiting.length > 0) this.#ready.push(queue);
    else if (this.#queues.get(queue.key) === queue) this.#queues.delete(queue.key);
  }

  /** Removes and returns all waiting records. */
  takeAll(): readonly LaneDelivery[] {
    const all: LaneDelivery[] = [];
    for (const queue of this.#queues.values()) {
      all.push(...queue.waiting.splice(0));
      queue.timer?.cancel();
      queue.timer = undefined;
      if (!queue.isBusy) this.#queues.delete(queue.key);
    }
    this.#ready.length = 0;
    this.#waiting = 0;
    this.#delayed = 0;
    return all;
  }

  /** Forgets all other queues. Called when no record waits. */
  keepOnly(busy: ReadonlySet<KeyQueue>): void {
    for (const queue of this.#queues.values()) if (!busy.has(queue)) this.#queues.delete(queue.key);
  }

  #open(key: Key, waiting: LaneDelivery[]): KeyQueue {
    const queue: KeyQueue = { key, waiting, isBusy: false };
    this.#queues.set(key, queue);
    return queue;
  }

  /** Calls `onWait` last, because the listener may take all waiting records. */
  #mustWait(queue: KeyQueue, first: LaneDelivery): boolean {
    const { wait } = first.history;
    if (!wait) return false;
    const { runtime, onWait } = this.parts;
    const delayMs = wait.until - runtime.monotonic();
    if (delayMs <= 0) return false;
    queue.timer = runtime.setTimer(() => this.#wake(queue), delayMs);
    this.#delayed += queue.waiting.length;
    onWait(first, wait);
    return true;
  }

  #wake(queue: KeyQueue): void {
    queue.timer = undefined;
    this.#delayed -= queue.waiting.length;
    this.#ready.push(queue);
    this.parts.onReady();
  }
}
