import type { LabelledCount } from '../model/states/binding-counts.js';

/**
 * Counts per combination of label values. The caller has to limit the number of different values.
 */
export class LabelledCounter<Labels extends Readonly<Record<string, string>>> {
  readonly #counts = new Map<string, { readonly labels: Labels; value: number }>();

  /**
   * Adds one to a combination of labels. The order of the labels must always be the same, because
   * their values form the key.
   */
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
