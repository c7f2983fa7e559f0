import type { BrokerRecord } from '@nest-event-bus/broker';
import type { Backoff, Runtime, Timer } from '@nest-event-bus/broker/runtime';
import type { LaneDelivery } from './lane-delivery.js';
import type { KeyedLaneParts } from './lane-parts.js';
import type { RecordWait } from '../../model/outcomes/delivery-history.js';

/**
 * Key of a record. Records without a key share the key null, so they stay in order among
 * themselves.
 */
export type Key = string | number | null;

/**
 * Returns the key of a record: records with the same key keep their order. With `by: 'none'`, each
 * record has its own key.
 */
export function keyOf({ key, offset }: BrokerRecord, by: KeyedLaneParts['by']): Key {
  if (by === 'none') return offset;
  return key === null ? null : key.toString('latin1');
}

/** Unfinished records of one key. */
export interface KeyQueue {
  readonly key: Key;
  readonly waiting: LaneDelivery[];
  /** True while a handler runs, or while the next record must not begin yet. */
  isBusy: boolean;
  backoff?: Backoff;
  /**
   * Timer for the wait of the first record. The other records of the queue wait until that one is
   * done.
   */
  timer?: Timer;
}

export interface KeyQueuesParts {
  readonly runtime: Pick<Runtime, 'monotonic' | 'setTimer'>;
  /** Called when the wait of a queue's first record is over. */
  onReady(): void;
  /** Called when the first record of a queue begins to wait. */
  onWait(delivery: LaneDelivery, wait: RecordWait): void;
}

/**
 * Queues of the records that wait for earlier records of their key, and the keys whose next record
 * may begin.
 */
export class KeyQueues {
  readonly #queues = new Map<Key, KeyQueue>();
  /** Queues whose first record may begin. */
  readonly #ready: KeyQueue[] = [];
  #waiting = 0;
  /** Number of waiting records in queues whose first record waits for a timer. */
  #delayed = 0;

  constructor(private readonly parts: KeyQueuesParts) {}

  /** Number of waiting records. */
  get size(): number {
    return this.#waiting;
  }

  /** Number of records that wait only for a running handler, and not for a timer. */
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

  /** Adds a record. Returns its queue if the queue was empty, so that the record may begin. */
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

  /**
   * Takes the first record of a queue. Returns undefined if that record has to wait for its time.
   */
  take(queue: KeyQueue): LaneDelivery | undefined {
    const first = queue.waiting[0] as LaneDelivery;
    if (this.#mustWait(queue, first)) return undefined;
    queue.waiting.shift();
    queue.isBusy = true;
    this.#waiting--;
    return first;
  }

  /** Puts a record back at the front of its queue. */
  putBack(queue: KeyQueue, delivery: LaneDelivery): void {
    queue.waiting.unshift(delivery);
    queue.isBusy = false;
    this.#waiting++;
    if (!this.#mustWait(queue, delivery)) this.#ready.push(queue);
  }

  /**
   * Frees the queue after its record has finished, so that the next record of the key may begin.
   */
  free(queue: KeyQueue): void {
    queue.isBusy = false;
    if (queue.waiting.length > 0) this.#ready.push(queue);
    else if (this.#queues.get(queue.key) === queue) this.#queues.delete(queue.key);
  }

  /** Finds a waiting record. */
  find(offset: number): LaneDelivery | undefined {
    for (const { waiting } of this.#queues.values()) {
      const found = waiting.find(({ record }) => record.offset === offset);
      if (found) return found;
    }
    return undefined;
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

  /** Drops all other queues. Called when no record waits. */
  keepOnly(busy: ReadonlySet<KeyQueue>): void {
    for (const queue of this.#queues.values()) if (!busy.has(queue)) this.#queues.delete(queue.key);
  }

  #open(key: Key, waiting: LaneDelivery[]): KeyQueue {
    const queue: KeyQueue = { key, waiting, isBusy: false };
    this.#queues.set(key, queue);
    return queue;
  }

  /**
   * Returns whether the first record has to wait. Calls `onWait` last, because the listener may
   * take all waiting records.
   */
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
