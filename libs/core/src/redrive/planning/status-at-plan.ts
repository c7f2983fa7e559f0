import type { LetterStatus } from '../ledger/ledger-entry.js';
import type { PartitionStates } from '../ledger/partition-states.js';
import type { PlannedPartition } from './redrive-plan.js';

/**
 * Returns the status that a letter had when it was planned. Later entries do not count. Undefined
 * if there were two or more later entries: an entry remembers only the one before it.
 */
export function statusAtPlan(
  offset: number,
  states: PartitionStates,
  { ledgerEnd }: Pick<PlannedPartition, 'ledgerEnd'>,
): LetterStatus | undefined {
  const entry = states.letter(offset);
  if (entry === undefined) return 'open';
  if (entry.ledgerOffset < ledgerEnd) return entry.status;
  const { supersedes } = entry;
  if (supersedes === undefined) return 'open';
  return supersedes.ledgerOffset < ledgerEnd ? supersedes.status : undefined;
}
