import type { SkipCounts, SkipReason } from './redrive-plan.js';

/** Counts skipped letters by reason. */
export class SkipCounter {
  readonly #counts = new Map<SkipReason, number>();

  constructor(initial: SkipCounts = {}) {
    this.add(initial);
  }

  count(reason: SkipReason, letters = 1): void {
    if (letters > 0) this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + letters);
  }

  add(counts: SkipCounts): void {
    for (const [reason, letters] of Object.entries(counts))
      this.count(reason as SkipReason, letters);
  }

  get total(): number {
    return [...this.#counts.values()].reduce((sum, letters) => sum + letters, 0);
  }

  counts(): SkipCounts {
    return Object.fromEntries(this.#counts);
  }
}
