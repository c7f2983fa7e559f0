import type { LetterEntry } from './ledger-entry.js';
import type { StoredLetter } from './partition-states.js';

type SupersededEntry = NonNullable<LetterEntry['supersedes']>;

/** Entries before these are forgotten, so that an entry stays small. */
const MOST_EARLIER = 50;

/** Returns what a new entry about a letter says about the entries before it. */
export function superseding(
  before: StoredLetter | undefined,
): Pick<LetterEntry, 'supersedes' | 'earlier'> {
  if (!before) return {};
  const { status, ledgerOffset } = before;
  return {
    supersedes: { status, ledgerOffset },
    earlier: historyOf(before).slice(0, MOST_EARLIER),
  };
}

/** Returns the entries before this one, the latest first. */
export function historyOf({
  supersedes,
  earlier = [],
}: Pick<LetterEntry, 'supersedes' | 'earlier'>): readonly SupersededEntry[] {
  return supersedes ? [supersedes, ...earlier] : [];
}

/** Returns whether the first entry about the letter is known. */
export function isHistoryComplete({
  supersedes,
  earlier,
}: Pick<LetterEntry, 'supersedes' | 'earlier'>): boolean {
  if (!supersedes) return true;
  return earlier !== undefined && earlier.length < MOST_EARLIER;
}
