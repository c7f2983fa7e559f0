/** A lane that waits for a free slot. */
export interface SlotWaiter {
  processPending(): void;
}

/** Limits the concurrent handlers of a session. A lane that finds no free slot gets one in turn. */
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

  /** Frees a slot. A lane with nothing to hand out leaves its turn to the next one. */
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
