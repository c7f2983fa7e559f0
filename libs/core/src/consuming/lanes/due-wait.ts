import type { BrokerRecord } from '@nest-event-bus/broker';
import type { Runtime, Timer } from '@nest-event-bus/broker/runtime';
import type { LaneDelivery } from './lane-delivery.js';

/**
 * Longest timer. If the clock is set or the machine sleeps, a record is late by no more than this.
 */
const LONGEST_TIMER_MS = 30_000;

/** Delays the records of a lane until they are due. */
export class DueWait {
  #timer: Timer | undefined;
  /**
   * Due time of the last record that was handed out. Records after it could not be handed out
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
   * Returns whether the record is due. If not, `onDue` is called at its due time, unless the wait
   * is cancelled.
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

  /**
   * Calls `onDue` after the delay. Timers may fire a little early, so the due time is checked
   * again.
   */
  #wait(delayMs: number): void {
    this.#timer = this.runtime.setTimer(() => {
      this.#timer = undefined;
      this.onDue();
    }, delayMs);
  }
}
