import type { KeyedEntry, LedgerClaim } from './ledger-claim.js';

const ENTRIES_PER_TRANSACTION = 1_000;

/** Deletes the entries of letters before `low`, which a purge or the retention has deleted. */
export async function forgetLetters(claim: LedgerClaim, low: number): Promise<void> {
  const tombstones = claim.states.keysBefore(low).map((key): KeyedEntry => [key, null]);
  for (let first = 0; first < tombstones.length; first += ENTRIES_PER_TRANSACTION)
    await claim.commit([], tombstones.slice(first, first + ENTRIES_PER_TRANSACTION));
}
