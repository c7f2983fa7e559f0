/** Names come from headers of any producer, so their number and length are limited. */
const MOST_NAMES = 1_000;
const LONGEST_NAME = 200;
const OTHERS = '(others)';

/** Counts by name, in bounded memory. */
export class NamedCounts {
  readonly #counts = new Map<string, number>();

  count(name: string): void {
    const short = name.slice(0, LONGEST_NAME);
    const isFull = this.#counts.size >= MOST_NAMES && !this.#counts.has(short);
    const counted = isFull ? OTHERS : short;
    this.#counts.set(counted, (this.#counts.get(counted) ?? 0) + 1);
  }

  counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }
}
