import type { Runtime, Timer } from '../../../runtime/index.js';
import type { SendCall } from '../send-call.js';

/**
 * Watches the deadlines of all calls with a single timer, because most calls end long before their
 * deadline.
 */
export class Deadlines {
  readonly #calls = new Set<SendCall>();
  #timer: Timer | undefined;
  #wakesAt = Number.POSITIVE_INFINITY;

  constructor(private readonly runtime: Runtime) {}

  get calls(): ReadonlySet<SendCall> {
    return this.#calls;
  }

  add(call: SendCall): void {
    this.#calls.add(call);
    if (call.deadlineAt < this.#wakesAt) this.#wakeAt(call.deadlineAt);
  }

  delete(call: SendCall): void {
    this.#calls.delete(call);
    if (this.#calls.size === 0) this.#sleep();
  }

  #wakeAt(time: number): void {
    this.#timer?.cancel();
    this.#wakesAt = time;
    this.#timer = this.runtime.setTimer(() => this.#sweep(), time - this.runtime.monotonic());
  }

  #sleep(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#wakesAt = Number.POSITIVE_INFINITY;
  }

  #sweep(): void {
    this.#sleep();
    const now = this.runtime.monotonic();
    let next = Number.POSITIVE_INFINITY;
    for (const call of this.#calls) {
      if (call.deadlineAt <= now) call.expire();
      else next = Math.min(next, call.deadlineAt);
    }
    if (next < Number.POSITIVE_INFINITY) this.#wakeAt(next);
  }
}
