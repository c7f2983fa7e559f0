import type { StoredEntry } from './read-ledger.js';

/** Entries of all ledgers together. Beyond them, the ledger that was not read for longest is forgotten. */
const MOST_ENTRIES = 50_000;

/**
 * The entries of one partition of a ledger that this process has read: the last one of each key, in
 * the order of the ledger, as compaction would leave them.
 */
export class KnownEntries {
  readonly #entries = new Map<string, StoredEntry>();
  #last: StoredEntry | undefined;
  #generation = 0;

  /** The last entry that was read; undefined if none was. */
  get last(): StoredEntry | undefined {
    return this.#last;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Changes when the entries are forgotten. A reader that began before must not add to them. */
  get generation(): number {
    return this.#generation;
  }

  list(): readonly StoredEntry[] {
    return [...this.#entries.values()];
  }

  /** Takes an entry, unless it is known, or was read by a reader of an earlier generation. */
  learn(stored: StoredEntry, generation: number): void {
    const last = this.#last;
    if (generation !== this.#generation || (last && stored.offset <= last.offset)) return;
    // A deleted entry says nothing more, except that the ledger was read up to it.
    if (last && last.entry === undefined) this.#entries.delete(last.key);
    this.#entries.delete(stored.key);
    this.#entries.set(stored.key, stored);
    this.#last = stored;
  }

  forget(): void {
    this.#entries.clear();
    this.#last = undefined;
    this.#generation++;
  }
}

/** Keeps what this process has read of ledgers, so that each read only asks for later entries. */
export class LedgerCache {
  readonly #ledgers = new Map<string, KnownEntries>();

  constructor(private readonly mostEntries = MOST_ENTRIES) {}

  /** Returns the known entries of a partition of the topic with this id. */
  entriesOf(topicId: string, partition: number): KnownEntries {
    const key = `${topicId}/${partition}`;
    const known = this.#ledgers.get(key) ?? new KnownEntries();
    this.#ledgers.delete(key);
    this.#ledgers.set(key, known);
    return known;
  }

  /** Forgets ledgers until the rest is small enough. */
  shrink(): void {
    let entries = 0;
    for (const known of this.#ledgers.values()) entries += known.size;
    for (const [key, known] of this.#ledgers) {
      if (entries <= this.mostEntries) return;
      entries -= known.size;
      known.forget();
      this.#ledgers.delete(key);
    }
  }
}
