import type { BrokerRecord } from '@nest-event-bus/broker';
import type { Runtime, Timer } from '@nest-event-bus/broker/runtime';
import type { LaneDelivery } from './lane-delivery.js';

/** A clock that is set meanwhile, or a machine that slept, delays a record by no more than this. */
const LONGEST_TIMER_MS = 30_000;

/** Lets the records of a lane through when they are due, and no sooner. */
export class DueWait {
  #timer: Timer | undefined;
  /** Nothing behind a record that was due then could be handed out before. */
  #openSince = 0;

  constructor(
    private readonly runtime: Runtime,
    private readonly dueAt: (record: BrokerRecord) => number,
    private readonly onDue: () => void,
  ) {}

  get isWaiting(): boolean {
    return this.#timer !== undefined;
  }

  /** Where it says no, `onDue` follows: no sooner than the record is due, unless it is called off. */
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

  /** Timers may fire a little early, so whoever is called asks again. */
  #wait(delayMs: number): void {
    this.#timer = this.runtime.setTimer(() => {
      this.#timer = undefined;
      this.onDue();
    }, delayMs);
  }
}
