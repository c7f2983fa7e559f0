import {
  ledgerKeys,
  type LedgerEntry,
  type LetterEntry,
  type LetterStatus,
  type OutcomeEntry,
  type ProgressEntry,
} from './ledger-entry.js';
import { classOf } from '../outcomes/outcome-counts.js';
import { OutcomeDetails } from '../outcomes/outcome-details.js';
import { OutcomeTable } from '../outcomes/outcome-table.js';
import { parseReplayId, replayIdOf } from '../outcomes/replay-id.js';
import type { StoredEntry } from './read-ledger.js';
import { ReplayedRanges } from './replayed-ranges.js';

export interface PartitionOfLetters {
  readonly topicId: string;
  readonly partition: number;
  /** The letters of which `outcomeOf` is asked: the first ones from an offset on. Default: none. */
  readonly outcomes?: { readonly from: number; readonly most: number };
}

const OUTCOME_PREFIX = ledgerKeys.outcome('');

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
  readonly #replayed: ReplayedRanges;
  /** By operation. */
  readonly #outcomes = new Map<string, OutcomeTable>();
  readonly #details: OutcomeDetails | undefined;
  readonly #progress = new Map<string, ProgressEntry>();
  readonly #letterPrefix: string;
  readonly #replayedPrefix: string;
  readonly #purgeKey: string;
  readonly #partition: number;
  #purgedTo: number | undefined;
  #end = 0;

  constructor({ topicId, partition, outcomes }: PartitionOfLetters) {
    this.#details = outcomes && new OutcomeDetails(outcomes.from, outcomes.most);
    this.#partition = partition;
    this.#purgeKey = ledgerKeys.purge(topicId, partition);
    this.#letterPrefix = ledgerKeys.letter(topicId, partition, 0).slice(0, -1);
    this.#replayedPrefix = ledgerKeys.replayed(topicId, partition, 0).slice(0, -1);
    this.#replayed = new ReplayedRanges(partition);
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
    } else if (key.startsWith(this.#replayedPrefix)) {
      // Without an entry all its letters are deleted, and nobody asks about them any more.
      if (entry?.kind === 'replayed') this.#replayed.add(key, entry, offset);
    } else if (key === this.#purgeKey)
      this.#purgedTo = entry?.kind === 'purge' ? entry.end : undefined;
    else if (entry?.kind === 'progress') this.#progress.set(key, entry);
    else if (key.startsWith(OUTCOME_PREFIX)) this.#applyOutcome(key, entry);
  }

  #applyOutcome(key: string, entry: LedgerEntry | undefined): void {
    const replayId = key.slice(OUTCOME_PREFIX.length);
    const replay = parseReplayId(replayId);
    if (replay?.partition !== this.#partition) return;
    const { operation, offset } = replay;
    if (entry?.kind !== 'outcome') {
      this.#outcomes.get(operation)?.delete(offset);
      return;
    }
    let table = this.#outcomes.get(operation);
    if (!table) this.#outcomes.set(operation, (table = new OutcomeTable()));
    table.set(offset, classOf(entry));
    this.#details?.set(offset, { replayId, outcome: entry });
  }

  /** Returns how the last replay of a letter ended; undefined if that is not known yet. */
  outcomeOf(offset: number): OutcomeEntry | undefined {
    const stored = this.#details?.get(offset);
    return stored?.replayId === this.letter(offset)?.replayId ? stored?.outcome : undefined;
  }

  /** Returns the last entry about a letter; undefined if it is open and nobody has decided. */
  letter(offset: number): StoredLetter | undefined {
    return this.#letters.get(offset) ?? this.#replayed.letter(offset);
  }

  /** The end of a purge that was begun and not finished; undefined if there is none. */
  get purgedTo(): number | undefined {
    return this.#purgedTo;
  }

  /**
   * Returns the keys of entries that are only about letters before `low`. Outcomes of the operations
   * that still need them are left out.
   */
  keysBefore(low: number, needed: ReadonlySet<string> = new Set()): readonly string[] {
    const letters = [...this.#letters.keys()]
      .filter((offset) => offset < low)
      .map((offset) => `${this.#letterPrefix}${offset}`);
    const keys = [...letters, ...this.#replayed.keysBefore(low)];
    for (const [operation, table] of this.#outcomes)
      if (!needed.has(operation))
        for (const offset of table.offsetsBefore(low)) {
          const replayId = replayIdOf({ operation, partition: this.#partition, offset });
          keys.push(`${OUTCOME_PREFIX}${replayId}`);
        }
    return keys;
  }

  statusOf(offset: number): LetterStatus {
    return this.#letters.get(offset)?.status ?? this.#replayed.statusOf(offset);
  }

  progressOf(operation: string): ProgressEntry | undefined {
    return this.#progress.get(ledgerKeys.progress(operation, this.#partition));
  }
}
