/** Who wants to hand out more. */
export interface SlotWaiter {
  processPending(): void;
}

/** How many handlers a session may have at work at once. Whoever finds none free is asked again, in turn. */
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

  /** Runs when a slot is free again. */
  wait(user: SlotWaiter): void {
    this.#waiting.add(user);
  }

  /** Whoever has nothing to hand out by now leaves its turn to the next. */
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
