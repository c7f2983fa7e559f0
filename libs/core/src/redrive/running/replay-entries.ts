import type { KeyedEntry } from '../ledger/claims/ledger-claim.js';
import { ledgerKeys, type LetterEntry, type ReplayedEntry } from '../ledger/ledger-entry.js';
import type { PartitionStates, StoredLetter } from '../ledger/partition-states.js';
import { superseding } from '../ledger/superseded.js';
import { rangesOf } from '../ledger/replayed-ranges.js';
import type { ReadLetter } from '../letters/read-letters.js';
import { replayIdOf } from '../outcomes/replay-id.js';

/** What is written about the letters of one transaction. */
export interface ReplayNote {
  /** The id of the dead-letter topic. */
  readonly topicId: string;
  readonly partition: number;
  readonly operation: string;
  /** The topic to which they are replayed. */
  readonly to: string;
  readonly by: string;
  readonly at: number;
}

/**
 * Returns the ledger entries of replayed letters: one for all letters about which the ledger says
 * nothing yet, and one for each other letter, which says what it was before.
 */
export function replayEntries(
  letters: readonly ReadLetter[],
  states: PartitionStates,
  note: ReplayNote,
): readonly KeyedEntry[] {
  const entries: KeyedEntry[] = [];
  const fresh: number[] = [];
  for (const { offset } of letters) {
    const before = states.letter(offset);
    if (before) entries.push(againEntry(offset, before, note));
    else fresh.push(offset);
  }
  if (fresh.length > 0) entries.push(batchEntry(fresh, note));
  return entries;
}

function batchEntry(
  offsets: readonly number[],
  { topicId, partition, ...said }: ReplayNote,
): KeyedEntry {
  const entry: ReplayedEntry = { kind: 'replayed', ranges: rangesOf(offsets), ...said };
  return [ledgerKeys.replayed(topicId, partition, offsets[0]!), entry];
}

function againEntry(
  offset: number,
  before: StoredLetter,
  { topicId, partition, ...said }: ReplayNote,
): KeyedEntry {
  const entry: LetterEntry = {
    kind: 'letter',
    status: 'replayed',
    ...said,
    replayId: replayIdOf({ operation: said.operation, partition, offset }),
    times: before.times + 1,
    ...superseding(before),
  };
  return [ledgerKeys.letter(topicId, partition, offset), entry];
}
