/** How the replay of a letter ended, as far as figures need it. */
export type OutcomeClass =
  | 'handled'
  | 'discarded'
  /** An operator or a `@DltHandler` has discarded it. */
  | 'given-up'
  | 'dead-lettered';

const CLASSES: readonly OutcomeClass[] = ['handled', 'discarded', 'given-up', 'dead-lettered'];
const OFFSETS_PER_CHUNK = 256;

/**
 * The outcomes of the letters of one partition, with one byte for each offset. A million letters
 * need a megabyte, and neighbours of a letter need nothing more.
 */
export class OutcomeTable {
  /** By the first offset divided by their size. A byte is 0, or 1 plus the index of the class. */
  readonly #chunks = new Map<number, Uint8Array>();
  readonly #counts = CLASSES.map(() => 0);

  /** Takes the last outcome of a letter, because an outcome may be written twice. */
  set(offset: number, outcome: OutcomeClass): void {
    const index = Math.floor(offset / OFFSETS_PER_CHUNK);
    let chunk = this.#chunks.get(index);
    if (!chunk) this.#chunks.set(index, (chunk = new Uint8Array(OFFSETS_PER_CHUNK)));
    const at = offset - index * OFFSETS_PER_CHUNK;
    const before = chunk[at]!;
    if (before > 0) this.#counts[before - 1]!--;
    const code = CLASSES.indexOf(outcome);
    this.#counts[code]!++;
    chunk[at] = code + 1;
  }

  /** Forgets the outcome of a letter. */
  delete(offset: number): void {
    const index = Math.floor(offset / OFFSETS_PER_CHUNK);
    const chunk = this.#chunks.get(index);
    const at = offset - index * OFFSETS_PER_CHUNK;
    const before = chunk?.[at] ?? 0;
    if (!chunk || before === 0) return;
    this.#counts[before - 1]!--;
    chunk[at] = 0;
  }

  count(outcome: OutcomeClass): number {
    return this.#counts[CLASSES.indexOf(outcome)]!;
  }

  /** Yields the offsets below `end` that have an outcome. */
  *offsetsBefore(end: number): Generator<number, void> {
    for (const [index, chunk] of this.#chunks) {
      const first = index * OFFSETS_PER_CHUNK;
      for (const [at, code] of chunk.entries()) if (code > 0 && first + at < end) yield first + at;
    }
  }

  /** The bytes that the outcomes need. */
  get sizeInBytes(): number {
    return this.#chunks.size * OFFSETS_PER_CHUNK;
  }
}
