import type { LaneDelivery } from './lane-delivery.js';

/** Waiting records in the order of the log. Taking the first one copies nothing. */
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
 * Number of taken records after which the array is compacted. A queue that is never empty must not
 * keep them all.
 */
const TAKEN_KEPT = 1_024;
