import type { BrokerRecord } from '@nest-event-bus/broker';
import type { Runtime, Timer } from '@nest-event-bus/broker/runtime';
import type { LaneDelivery } from './lane-delivery.js';

/**
 * Longest timer. A clock that is set, or a machine that slept, delays a record by no more than
 * this.
 */
const LONGEST_TIMER_MS = 30_000;

/** Holds the records of a lane back until they are due. */
export class DueWait {
  #timer: Timer | undefined;
  /**
   * Due time of the last record that was let through. Records after it could not be handed out
   * earlier.
   */
  #openSince = 0;

  constructor(
    private readonly runtime: Runtime,
    private readonly dueAt: (record: BrokerRecord) => number,
    private readonly onDue: () => void,
  ) {}

  get isWaiting(): boolean {
    return this.#timer !== undefined;
  }

  /**
   * Returns false if the record is not due. Then `onDue` is called when it is, unless the wait is
   * cancelled.
   */
  isDue(delivery: LaneDelivery): boolean {
    if (this.#timer) return false;
    const dueAt = this.dueAt(delivery.record);
    const now = this.runtime.now();
    const restMs = dueAt - now;
    if (restMs > 0) {
      this.#wait(Math.min(restMs, LONGEST_TIMER_MS));
      return false;
    }
    if (dueAt > this.#openSince) this.#openSince = dueAt;
    delivery.readyAt(this.#openSince, this.runtime.monotonic() - (now - this.#openSince));
    return true;
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Timers may fire a little early, so the callback checks again. */
  #wait(delayMs: number): void {
    this.#timer = this.runtime.setTimer(() => {
      this.#timer = undefined;
      this.onDue();
    }, delayMs);
  }
}
