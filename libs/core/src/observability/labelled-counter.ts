import type { LabelledCount } from '../model/states/binding-counts.js';

/** One number for each combination of labels that has come up. What may come up is for its owner to bound. */
export class LabelledCounter<Labels extends Readonly<Record<string, string>>> {
  readonly #counts = new Map<string, { readonly labels: Labels; value: number }>();

  /** The labels always come in the same order. */
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
