import type { Handled } from '../support/completeness.js';
import type { MemberStory } from '../support/tenures.js';

/** Which records were handled at all, kept up to date at the price of what is new. */
export class HandledTally {
  readonly #seen = new Map<string, number>();
  readonly #distinct: Set<number>[] = [];

  countOf(stories: readonly MemberStory[]): number {
    for (const { name, events } of stories) {
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
