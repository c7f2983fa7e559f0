/** A lane that waits for a free slot. */
export interface SlotWaiter {
  processPending(): void;
}

/**
 * Limits the concurrent handlers of a session. Lanes that find no free slot get one in the order of
 * their requests.
 */
export class HandlerSlots {
  readonly #waiting = new Set<SlotWaiter>();
  #taken = 0;

  constructor(readonly limit: number) {}

  get isFree(): boolean {
    return this.#taken < this.limit;
  }

  take(): void {
    this.#taken++;
  }

  /** Calls `processPending` once a slot is free. */
  wait(user: SlotWaiter): void {
    this.#waiting.add(user);
  }

  /**
   * Frees a slot. If the next waiting lane has no record to hand out, the lane after it gets the
   * slot.
   */
  release(): void {
    this.#taken--;
    while (this.isFree) {
      const [next] = this.#waiting;
      if (!next) return;
      this.#waiting.delete(next);
      next.processPending();
    }
  }
}
