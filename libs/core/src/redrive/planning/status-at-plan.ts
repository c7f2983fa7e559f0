import type { LetterStatus } from '../ledger/ledger-entry.js';
import type { PartitionStates } from '../ledger/partition-states.js';
import { historyOf, isHistoryComplete } from '../ledger/superseded.js';
import type { PlannedPartition } from './redrive-plan.js';

/**
 * Returns the status that a letter had when it was planned. Later entries do not count. Undefined
 * if so many entries followed the plan that the last one no longer remembers that status.
 */
export function statusAtPlan(
  offset: number,
  states: PartitionStates,
  { ledgerEnd }: Pick<PlannedPartition, 'ledgerEnd'>,
): LetterStatus | undefined {
  const entry = states.letter(offset);
  if (entry === undefined) return 'open';
  const known = [entry, ...historyOf(entry)].find(({ ledgerOffset }) => ledgerOffset < ledgerEnd);
  if (known) return known.status;
  return isHistoryComplete(entry) ? 'open' : undefined;
}
