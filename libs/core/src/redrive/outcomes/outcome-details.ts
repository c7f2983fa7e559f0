import type { OutcomeEntry } from '../ledger/ledger-entry.js';

/** An outcome with the replay that it is about. */
export interface StoredOutcome {
  readonly replayId: string;
  readonly outcome: OutcomeEntry;
}

/**
 * The complete outcomes of the first letters from an offset on. A reader that looks at no more than
 * `most` letters finds all of them here, and a million others need no memory.
 */
export class OutcomeDetails {
  readonly #outcomes = new Map<number, StoredOutcome>();
  /** Offsets from here on were dropped. */
  #end = Infinity;

  constructor(
    private readonly from: number,
    private readonly most: number,
  ) {}

  get size(): number {
    return this.#outcomes.size;
  }

  set(offset: number, stored: StoredOutcome): void {
    if (offset < this.from || offset >= this.#end) return;
    this.#outcomes.set(offset, stored);
    if (this.#outcomes.size >= this.most * 2) this.#dropLast();
  }

  get(offset: number): StoredOutcome | undefined {
    return this.#outcomes.get(offset);
  }

  #dropLast(): void {
    const offsets = [...this.#outcomes.keys()].toSorted((one, other) => one - other);
    this.#end = offsets[this.most]!;
    for (const offset of offsets.slice(this.most)) this.#outcomes.delete(offset);
  }
}
