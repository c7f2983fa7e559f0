import type { BrokerRecord } from '@nest-event-bus/broker';
import type { Runtime, Timer } from '@nest-event-bus/broker/runtime';
import type { LaneDelivery } from './lane-delivery.js';

/**
 * Longest timer. If the clock is set or the machine sleeps, a record is late by no more than this.
 */
const LONGEST_TIMER_MS = 30_000;

/** Allowed difference of the two clocks: only one of the clocks has fractions of milliseconds. */
const ROUNDING_MS = 1;

/** Delays the records of a lane until they are due. */
export class DueWait {
  #timer: Timer | undefined;
  /** The first record of the lane, and since when it is asked for by the monotonic clock. */
  #head: { readonly delivery: LaneDelivery; readonly since: number } | undefined;
  /**
   * Due time of the last record that was handed out. Records after it could not be handed out
   * earlier.
   */
  #openSince = 0;

  constructor(
    private readonly runtime: Runtime,
    private readonly dueAt: (record: BrokerRecord, readAt: number) => number,
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
    const { record, receivedAt } = delivery;
    const dueAt = this.dueAt(record, receivedAt);
    const now = this.runtime.now();
    const restMs = Math.min(dueAt - now, this.#restOf(delivery, dueAt - receivedAt));
    if (restMs > 0) {
      this.#wait(Math.min(restMs, LONGEST_TIMER_MS));
      return false;
    }
    this.#openSince = Math.max(this.#openSince, Math.min(dueAt, now));
    delivery.readyAt(this.#openSince, this.runtime.monotonic() - (now - this.#openSince));
    return true;
  }

  /**
   * Returns how much of `waitMs` is left by the monotonic clock, since the record was first asked
   * for. If the clock is set back, the due time is far away, and no record waits longer for that.
   */
  #restOf(delivery: LaneDelivery, waitMs: number): number {
    const now = this.runtime.monotonic();
    if (this.#head?.delivery !== delivery) this.#head = { delivery, since: now };
    return waitMs - (now - this.#head.since) + ROUNDING_MS;
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
