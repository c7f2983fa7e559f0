import type { KeyedEntry, LedgerClaim } from './claims/ledger-claim.js';
import { needsOutcomes } from './operation-state.js';
import { readOperations, type OperationsToRead } from './read-operations.js';

const ENTRIES_PER_TRANSACTION = 1_000;

/**
 * Deletes the entries of letters before `low`, which a purge or the retention has deleted. Outcomes
 * that the verdict about a canary needs are kept until it is known.
 */
export async function forgetLetters(
  claim: LedgerClaim,
  low: number,
  ledger: OperationsToRead,
): Promise<void> {
  if (claim.states.keysBefore(low).length === 0) return;
  const operations = [...(await readOperations(ledger)).values()];
  const needed = new Set(operations.filter(needsOutcomes).map(({ id }) => id));
  const tombstones = claim.states.keysBefore(low, needed).map((key): KeyedEntry => [key, null]);
  for (let first = 0; first < tombstones.length; first += ENTRIES_PER_TRANSACTION)
    await claim.commit([], tombstones.slice(first, first + ENTRIES_PER_TRANSACTION));
}
