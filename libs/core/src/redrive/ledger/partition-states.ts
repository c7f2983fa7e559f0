import {
  ledgerKeys,
  type LetterEntry,
  type LetterStatus,
  type OutcomeEntry,
  type ProgressEntry,
} from './ledger-entry.js';
import { parseReplayId } from '../outcomes/replay-id.js';
import type { StoredEntry } from './read-ledger.js';
import { ReplayedRanges } from './replayed-ranges.js';

export interface PartitionOfLetters {
  readonly topicId: string;
  readonly partition: number;
}

/** The last entry about a letter, and its offset in the ledger. */
export interface StoredLetter extends LetterEntry {
  readonly ledgerOffset: number;
}

interface StoredOutcome {
  readonly replayId: string;
  readonly outcome: OutcomeEntry;
}

/**
 * What the ledger says about the letters of one partition of the dead-letter topic. Entries are
 * applied in the order of the ledger.
 */
export class PartitionStates {
  readonly #letters = new Map<number, StoredLetter>();
  readonly #replayed: ReplayedRanges;
  readonly #outcomes = new Map<number, StoredOutcome>();
  readonly #progress = new Map<string, ProgressEntry>();
  readonly #letterPrefix: string;
  readonly #replayedPrefix: string;
  readonly #purgeKey: string;
  readonly #partition: number;
  #purgedTo: number | undefined;
  #end = 0;

  constructor({ topicId, partition }: PartitionOfLetters) {
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
    else if (entry?.kind === 'outcome') this.#applyOutcome(key, entry);
  }

  #applyOutcome(key: string, outcome: OutcomeEntry): void {
    const replayId = key.slice(ledgerKeys.outcome('').length);
    const replay = parseReplayId(replayId);
    if (replay?.partition === this.#partition)
      this.#outcomes.set(replay.offset, { replayId, outcome });
  }

  /** Returns how the last replay of a letter ended; undefined if that is not known yet. */
  outcomeOf(offset: number): OutcomeEntry | undefined {
    const stored = this.#outcomes.get(offset);
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

  /** Returns the keys of entries that are only about letters before `low`. */
  keysBefore(low: number): readonly string[] {
    const letters = [...this.#letters.keys()]
      .filter((offset) => offset < low)
      .map((offset) => `${this.#letterPrefix}${offset}`);
    const outcomes = [...this.#outcomes]
      .filter(([offset]) => offset < low)
      .map(([, { replayId }]) => ledgerKeys.outcome(replayId));
    return [...letters, ...this.#replayed.keysBefore(low), ...outcomes];
  }

  statusOf(offset: number): LetterStatus {
    return this.#letters.get(offset)?.status ?? this.#replayed.statusOf(offset);
  }

  progressOf(operation: string): ProgressEntry | undefined {
    return this.#progress.get(ledgerKeys.progress(operation, this.#partition));
  }
}
