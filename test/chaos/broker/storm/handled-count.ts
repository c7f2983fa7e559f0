import type { Handled } from '../support/completeness.js';
import type { MemberHistory } from '../support/ownership-periods.js';

/** Counts the distinct handled records incrementally, from new events only. */
export class HandledCount {
  readonly #seen = new Map<string, number>();
  readonly #distinct: Set<number>[] = [];

  countOf(histories: readonly MemberHistory[]): number {
    for (const { name, events } of histories) {
      for (const event of events.slice(this.#seen.get(name) ?? 0))
        if (event.kind === 'handled') for (const record of event.records) this.#add(record);
      this.#seen.set(name, events.length);
    }
    return this.#distinct.reduce((sum, offsets) => sum + offsets.size, 0);
  }

  #add({ partition, offset }: Handled): void {
    (this.#distinct[partition] ??= new Set()).add(offset);
  }
}
