import { realRuntime } from '@nest-event-bus/broker/runtime';
import type { DeliveryAudit } from './delivery-audit.js';

interface Progress {
  done: number;
  since: number;
}

/** Measures the longest time without progress of a partition that has records to handle. */
export class ProgressWatch {
  longestMs = 0;
  readonly #progress: readonly Progress[];

  constructor(
    private readonly audit: DeliveryAudit,
    partitions: number,
  ) {
    const since = realRuntime.monotonic();
    this.#progress = Array.from({ length: partitions }, () => ({ done: 0, since }));
  }

  check(): void {
    const { completedUpTo: lows } = this.audit;
    const now = realRuntime.monotonic();
    this.#progress.forEach((progress, partition) => {
      const done = lows[partition] ?? 0;
      const isProgressing = done > progress.done || done === this.audit.end(partition);
      if (isProgressing) Object.assign(progress, { done, since: now });
      this.longestMs = Math.max(this.longestMs, now - progress.since);
    });
  }
}
