import { Backoff, sleep } from '@nest-event-bus/broker/runtime';
import { isFence } from './is-fence.js';
import { LedgerClaim, type Claimant, type LedgerClaimParts } from './ledger-claim.js';

/** Commands of operators are short, so several of them rarely meet more often. */
const MOST_CLAIMS = 10;
const RETRY = { initialMs: 50, maxMs: 2_000 };

/**
 * Claims a partition, calls back, and releases the partition. Repeats both if another claim has
 * ended this one, so `act` must decide by the states of the claim that it gets.
 */
export async function withClaim<T>(
  parts: LedgerClaimParts,
  claimant: Claimant,
  act: (claim: LedgerClaim) => Promise<T>,
): Promise<T> {
  const backoff = new Backoff(parts.runtime, RETRY);
  for (let claims = 1; ; claims++)
    try {
      return await claimOnce(parts, claimant, act);
    } catch (error) {
      if (!isFence(error) || claims === MOST_CLAIMS) throw error;
      await sleep(parts.runtime, backoff.next(), claimant.signal);
    }
}

async function claimOnce<T>(
  parts: LedgerClaimParts,
  claimant: Claimant,
  act: (claim: LedgerClaim) => Promise<T>,
): Promise<T> {
  const claim = await LedgerClaim.open(parts, claimant);
  try {
    const result = await act(claim);
    await claim.release();
    return result;
  } finally {
    await claim.close();
  }
}
