import { replayIdOf } from '../outcomes/replay-id.js';
import type { LetterStatus, ReplayedEntry } from './ledger-entry.js';
import type { StoredLetter } from './partition-states.js';

interface StoredRange {
  readonly from: number;
  readonly to: number;
  readonly key: string;
  readonly entry: ReplayedEntry;
  readonly ledgerOffset: number;
}

/** Returns consecutive offsets as pairs. The offsets must ascend. */
export function rangesOf(offsets: readonly number[]): ReplayedEntry['ranges'] {
  const ranges: [from: number, count: number][] = [];
  for (const offset of offsets) {
    const last = ranges.at(-1);
    if (last && last[0] + last[1] === offset) last[1]++;
    else ranges.push([offset, 1]);
  }
  return ranges;
}

/**
 * Letters of one partition that were replayed in batches. A letter is in one range at most, because
 * a letter about which there was an entry gets an entry of its own when it is replayed again.
 */
export class ReplayedRanges {
  readonly #ranges: StoredRange[] = [];
  #isSorted = true;

  constructor(private readonly partition: number) {}

  add(key: string, entry: ReplayedEntry, ledgerOffset: number): void {
    for (const [from, count] of entry.ranges) {
      const last = this.#ranges.at(-1);
      if (last && last.from > from) this.#isSorted = false;
      this.#ranges.push({ from, to: from + count, key, entry, ledgerOffset });
    }
  }

  /** Returns what became of a letter; undefined if it is in no range. */
  letter(offset: number): StoredLetter | undefined {
    const range = this.#find(offset);
    if (!range) return undefined;
    const { at, by, operation, to } = range.entry;
    const replayId = replayIdOf({ operation, partition: this.partition, offset });
    const said = { at, by, operation, replayId, to, times: 1 };
    return { kind: 'letter', status: 'replayed', ...said, ledgerOffset: range.ledgerOffset };
  }

  statusOf(offset: number): LetterStatus {
    return this.#find(offset) ? 'replayed' : 'open';
  }

  /** Returns the keys of entries of which all letters are before `low`. */
  keysBefore(low: number): readonly string[] {
    const kept = new Set(this.#ranges.filter(({ to }) => to > low).map(({ key }) => key));
    return [...new Set(this.#ranges.map(({ key }) => key))].filter((key) => !kept.has(key));
  }

  #find(offset: number): StoredRange | undefined {
    if (!this.#isSorted) this.#ranges.sort((one, other) => one.from - other.from);
    this.#isSorted = true;
    let [low, high] = [0, this.#ranges.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#ranges[middle]!.to <= offset) low = middle + 1;
      else high = middle;
    }
    const range = this.#ranges[low];
    return range && range.from <= offset ? range : undefined;
  }
}
