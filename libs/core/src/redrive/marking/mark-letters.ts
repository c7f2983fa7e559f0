import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { LedgerAccess } from '../ledger/ledger-access.js';
import type { KeyedEntry } from '../ledger/claims/ledger-claim.js';
import { ledgerKeys, type LetterEntry, type LetterStatus } from '../ledger/ledger-entry.js';
import type { PartitionStates } from '../ledger/partition-states.js';
import { superseding } from '../ledger/superseded.js';
import { withClaim } from '../ledger/claims/with-claim.js';
import { refused } from '../letters/filter-conditions.js';
import { belongsTo, ReadLetter, type DeadLetterPosition } from '../letters/read-letters.js';
import { compileFilter, fixAges, type DeadLetterFilter } from '../letters/dead-letter-filter.js';
import { finishPurge } from '../purging/purge-intent.js';

/** Which letters an operator decides about. */
export type LettersToMark =
  { readonly at: readonly DeadLetterPosition[] } | { readonly where: DeadLetterFilter };

export interface MarkNote {
  /** Why, for the ledger. */
  readonly reason: string;
  /** The operator, for the ledger. Default: the name of this host. */
  readonly by?: string;
}

export interface MarkReport {
  /** Letters whose status has changed. */
  readonly changed: number;
  /** Letters that already had the status, whose status does not allow it, or that were purged. */
  readonly unchanged: number;
}

export interface Marking {
  readonly status: 'permanently-failed' | 'open';
  readonly note: Required<MarkNote>;
  readonly runtime: Runtime;
}

const MOST_POSITIONS = 1_000;
const ENTRIES_PER_TRANSACTION = 1_000;

/** Returns what the ledger can store: with times instead of ages. Throws if it is not valid. */
export function checkedLetters(letters: LettersToMark, now: number): LettersToMark {
  const { at, where }: { at?: readonly DeadLetterPosition[]; where?: DeadLetterFilter } = letters;
  if (at === undefined) return { where: fixAges(where!, now) };
  if (where !== undefined) throw refused('at', 'cannot be combined with where');
  if (!Array.isArray(at) || at.length === 0 || at.length > MOST_POSITIONS || !at.every(isPosition))
    throw refused('at', `needs 1 to ${MOST_POSITIONS} positions { partition, offset }`);
  return { at: at.map(({ partition, offset }) => ({ partition, offset })) };
}

const isPosition = ({ partition, offset }: DeadLetterPosition): boolean =>
  [partition, offset].every((each) => Number.isSafeInteger(each) && each >= 0);

/**
 * Changes the status of letters that were checked. Each partition is claimed, so that a redrive that runs meanwhile
 * sees either the letter before the decision or after it.
 */
export async function markLetters(
  access: LedgerAccess,
  letters: LettersToMark,
  marking: Marking,
): Promise<MarkReport> {
  const { admin, topics } = access;
  const selected = selectorOf(letters);
  const report = { changed: 0, unchanged: 0 };
  for (const { partition, low, high } of await admin.watermarks(topics.deadLetters)) {
    const [from, to] = selected.rangeOf(partition, low, high);
    if (from >= to) continue;
    const found: number[] = [];
    for await (const record of admin.readRange(topics.deadLetters, partition, from, to)) {
      const letter = new ReadLetter(record);
      if (selected.has(letter) && belongsTo(letter, access.binding)) found.push(letter.offset);
    }
    const changed = found.length === 0 ? 0 : await markPartition(access, partition, found, marking);
    report.changed += changed;
    report.unchanged += found.length - changed;
  }
  return report;
}

async function markPartition(
  { admin, driver, topics }: LedgerAccess,
  partition: number,
  offsets: readonly number[],
  marking: Marking,
): Promise<number> {
  const { runtime, status } = marking;
  const { signal } = new AbortController();
  const claimant = { partition, operation: `mark ${status}`, signal };
  return withClaim({ admin, driver, topics, runtime }, claimant, async (claim) => {
    const low = await finishPurge({ admin, topics }, claim);
    const { states } = claim;
    const changing = offsets.filter(
      (offset) => offset >= low && mayBecome(status, states.statusOf(offset)),
    );
    const entries = changing.map((offset): KeyedEntry => {
      const key = ledgerKeys.letter(topics.deadLetterTopicId, partition, offset);
      return [key, markEntry(marking, states, offset)];
    });
    for (let first = 0; first < entries.length; first += ENTRIES_PER_TRANSACTION)
      await claim.commit([], entries.slice(first, first + ENTRIES_PER_TRANSACTION));
    return changing.length;
  });
}

/** A replayed letter is not marked as failed, because its record goes on elsewhere. */
function mayBecome(status: Marking['status'], present: LetterStatus): boolean {
  return status === 'open' ? present !== 'open' : present === 'open';
}

function markEntry(
  { note, runtime, status }: Marking,
  states: PartitionStates,
  offset: number,
): LetterEntry {
  const before = states.letter(offset);
  return {
    kind: 'letter',
    status,
    at: runtime.now(),
    by: note.by,
    reason: note.reason,
    times: before?.times ?? 0,
    ...superseding(before),
  };
}

interface Selector {
  rangeOf(partition: number, low: number, high: number): readonly [from: number, to: number];
  has(letter: ReadLetter): boolean;
}

function selectorOf(letters: LettersToMark): Selector {
  if (!('at' in letters))
    return { rangeOf: (_, low, high) => [low, high], has: compileFilter(letters.where) };
  const { at } = letters;
  const wanted = new Set(at.map(({ partition, offset }) => `${partition}/${offset}`));
  return {
    rangeOf: (partition, low, high) => {
      const offsets = at.filter((each) => each.partition === partition).map(({ offset }) => offset);
      return [Math.max(low, Math.min(...offsets)), Math.min(high, Math.max(...offsets) + 1)];
    },
    has: ({ record: { partition, offset } }) => wanted.has(`${partition}/${offset}`),
  };
}
