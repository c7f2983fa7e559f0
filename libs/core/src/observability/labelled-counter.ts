import type { LabelledCount } from '../model/states/binding-counts.js';

/** Counts per combination of label values. The owner has to limit the number of values. */
export class LabelledCounter<Labels extends Readonly<Record<string, string>>> {
  readonly #counts = new Map<string, { readonly labels: Labels; value: number }>();

  /** Expects the labels always in the same order, because their values form the key. */
  increment(labels: Labels): void {
    const key = JSON.stringify(Object.values(labels));
    const known = this.#counts.get(key);
    if (known) known.value++;
    else this.#counts.set(key, { labels, value: 1 });
  }

  get all(): readonly LabelledCount[] {
    return [...this.#counts.values()].map(({ labels, value }) => ({ labels, value }));
  }
}
