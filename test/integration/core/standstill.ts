import { realRuntime } from '@nest-event-bus/broker/runtime';
import type { StormLedger } from './storm-ledger.js';

interface Stand {
  done: number;
  since: number;
}

/** Tells a partition that is frozen from one that has much to do: of the latter something is done now and then. */
export class Standstill {
  longestMs = 0;
  readonly #stands: readonly Stand[];

  constructor(
    private readonly ledger: StormLedger,
    partitions: number,
  ) {
    const since = realRuntime.monotonic();
    this.#stands = Array.from({ length: partitions }, () => ({ done: 0, since }));
  }

  look(): void {
    const { lows } = this.ledger;
    const now = realRuntime.monotonic();
    this.#stands.forEach((stand, partition) => {
      const done = lows[partition] ?? 0;
      const isMoving = done > stand.done || done === this.ledger.end(partition);
      if (isMoving) Object.assign(stand, { done, since: now });
      this.longestMs = Math.max(this.longestMs, now - stand.since);
    });
  }
}
