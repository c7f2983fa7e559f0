/** Label value that replaces all values above the limit. */
const OTHER = 'other';

/**
 * Keeps the first values of a label and replaces all later ones, so that generated values cannot
 * fill the memory.
 */
export class KnownValues {
  readonly #known = new Set<string>();

  constructor(private readonly limit: number) {}

  nameOf(value: string): string {
    if (this.#known.has(value)) return value;
    if (this.#known.size >= this.limit) return OTHER;
    this.#known.add(value);
    return value;
  }
}
