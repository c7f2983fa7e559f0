/** What stands for all values that came too late. */
const OTHER = 'other';

/** The first values of a label that come up keep their names: whoever invents more must not fill the memory. */
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
