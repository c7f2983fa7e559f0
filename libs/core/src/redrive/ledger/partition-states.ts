import {
  ledgerKeys,
  type LetterEntry,
  type LetterStatus,
  type ProgressEntry,
} from './ledger-entry.js';
import type { StoredEntry } from './read-ledger.js';

export interface PartitionOfLetters {
  readonly topicId: string;
  readonly partition: number;
}

/** The last entry about a letter, and its offset in the ledger. */
export interface StoredLetter extends LetterEntry {
  readonly ledgerOffset: number;
}

/**
 * What the ledger says about the letters of one partition of the dead-letter topic. Entries are
 * applied in the order of the ledger.
 */
export class PartitionStates {
  readonly #letters = new Map<number, StoredLetter>();
  readonly #progress = new Map<string, ProgressEntry>();
  readonly #letterPrefix: string;
  readonly #partition: number;
  #end = 0;

  constructor({ topicId, partition }: PartitionOfLetters) {
    this.#partition = partition;
    this.#letterPrefix = ledgerKeys.letter(topicId, partition, 0).slice(0, -1);
  }

  /** The first ledger offset that was not applied. */
  get end(): number {
    return this.#end;
  }

  apply({ key, entry, offset }: StoredEntry): void {
    this.#end = offset + 1;
    if (key.startsWith(this.#letterPrefix)) {
      const letter = Number(key.slice(this.#letterPrefix.length));
      if (entry?.kind === 'letter') this.#letters.set(letter, { ...entry, ledgerOffset: offset });
      else this.#letters.delete(letter);
    } else if (entry?.kind === 'progress') this.#progress.set(key, entry);
  }

  /** Returns the last entry about a letter; undefined if it is open and nobody has decided. */
  letter(offset: number): StoredLetter | undefined {
    return this.#letters.get(offset);
  }

  /** Returns the offsets of the letters before `end` about which the ledger has an entry. */
  lettersBefore(end: number): readonly number[] {
    return [...this.#letters.keys()].filter((offset) => offset < end);
  }

  statusOf(offset: number): LetterStatus {
    return this.#letters.get(offset)?.status ?? 'open';
  }

  progressOf(operation: string): ProgressEntry | undefined {
    return this.#progress.get(ledgerKeys.progress(operation, this.#partition));
  }
}
