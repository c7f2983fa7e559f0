import type { LaneDelivery } from './lane-delivery.js';

/** Waiting records in the order of the log. Taking the first record does not copy the others. */
export class PendingQueue {
  readonly #deliveries: LaneDelivery[] = [];
  #head = 0;

  get size(): number {
    return this.#deliveries.length - this.#head;
  }

  get first(): LaneDelivery | undefined {
    return this.#deliveries[this.#head];
  }

  add(delivery: LaneDelivery): void {
    this.#deliveries.push(delivery);
  }

  /** Puts a record before all others. */
  putBack(delivery: LaneDelivery): void {
    if (this.#head > 0) this.#deliveries[--this.#head] = delivery;
    else this.#deliveries.unshift(delivery);
  }

  /** Takes the first record of a queue that is not empty. */
  take(): LaneDelivery {
    const delivery = this.#deliveries[this.#head++] as LaneDelivery;
    if (this.#head === this.#deliveries.length) this.#clear();
    else if (this.#head === TAKEN_KEPT) this.#forgetTaken();
    return delivery;
  }

  /** Takes all records. */
  takeAll(): readonly LaneDelivery[] {
    const all = this.#deliveries.slice(this.#head);
    this.#clear();
    return all;
  }

  #clear(): void {
    this.#deliveries.length = 0;
    this.#head = 0;
  }

  #forgetTaken(): void {
    this.#deliveries.splice(0, this.#head);
    this.#head = 0;
  }
}

/**
 * Number of taken records after which the array is compacted. Otherwise a queue that is never empty
 * would keep all of them.
 */
const TAKEN_KEPT = 1_024;
