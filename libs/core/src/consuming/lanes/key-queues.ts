import type { Backoff, Runtime, Timer } from '@nest-event-bus/broker/runtime';
import type { LaneDelivery } from './lane-delivery.js';
import type { RecordWait } from '../../model/outcomes/delivery-history.js';

/** null is a key, too: records without one have no order among others, but among themselves. */
export type Key = string | number | null;

/** Records of one key, from the first that is at work or waits until there is none. */
export interface KeyQueue {
  readonly key: Key;
  readonly waiting: LaneDelivery[];
  /** A handler is at work, or the next one is not to begin yet. */
  isBusy: boolean;
  backoff?: Backoff;
  /** Its first record waits for its time, and the rest for that one. */
  timer?: Timer;
}

export interface KeyQueuesParts {
  readonly runtime: Pick<Runtime, 'monotonic' | 'setTimer'>;
  /** The first record of a queue has come to its time. */
  onReady(): void;
  /** The first record of a queue waits for its time. */
  onWait(delivery: LaneDelivery, wait: RecordWait): void;
}

/** The records of a partition that wait for those of their own key, and the keys whose turn it is. */
export class KeyQueues {
  readonly #queues = new Map<Key, KeyQueue>();
  /** Whose first record may begin. */
  readonly #ready: KeyQueue[] = [];
  #waiting = 0;
  /** Of those, in queues whose first one waits for its time. */
  #delayed = 0;

  constructor(private readonly parts: KeyQueuesParts) {}

  /** Records that wait. */
  get size(): number {
    return this.#waiting;
  }

  /** Records that wait only for others that are at work. */
  get inLine(): number {
    return this.#waiting - this.#delayed;
  }

  get isReady(): boolean {
    return this.#ready.length > 0;
  }

  /** Of keys that are ready, the one that waits longest. */
  nextReady(): KeyQueue {
    return this.#ready.shift() as KeyQueue;
  }

  /** Gives its queue where it is alone there. */
  add(key: Key, delivery: LaneDelivery): KeyQueue | undefined {
    this.#waiting++;
    const taken = this.#queues.get(key);
    if (!taken) return this.#open(key, [delivery]);
    taken.waiting.push(delivery);
    if (taken.timer) this.#delayed++;
    return undefined;
  }

  /** Nothing of this key begins until it is freed. */
  block(key: Key): KeyQueue {
    const queue = this.#open(key, []);
    queue.isBusy = true;
    return queue;
  }

  /** The first of a queue; undefined where it has to wait until its time. */
  take(queue: KeyQueue): LaneDelivery | undefined {
    const first = queue.waiting[0] as LaneDelivery;
    if (this.#mustWait(queue, first)) return undefined;
    queue.waiting.shift();
    queue.isBusy = true;
    this.#waiting--;
    return first;
  }

  /** In front of those of its key. */
  putBack(queue: KeyQueue, delivery: LaneDelivery): void {
    queue.waiting.unshift(delivery);
    queue.isBusy = false;
    this.#waiting++;
    if (!this.#mustWait(queue, delivery)) this.#ready.push(queue);
  }

  /** The record that was at work is done, or elsewhere: the next one has its turn. */
  free(queue: KeyQueue): void {
    queue.isBusy = false;
    if (queue.waiting.length > 0) this.#ready.push(queue);
    else if (this.#queues.get(queue.key) === queue) this.#queues.delete(queue.key);
  }

  /** All that waits, and nothing does any more. */
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

  /** With nothing waiting: the keys of all others begin anew. */
  keepOnly(busy: ReadonlySet<KeyQueue>): void {
    for (const queue of this.#queues.values()) if (!busy.has(queue)) this.#queues.delete(queue.key);
  }

  #open(key: Key, waiting: LaneDelivery[]): KeyQueue {
    const queue: KeyQueue = { key, waiting, isBusy: false };
    this.#queues.set(key, queue);
    return queue;
  }

  /** Told last: whoever hears of it may take all that waits. */
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
