import type { Runtime } from '@nest-event-bus/broker/runtime';
import { forgetLetters } from '../ledger/forget-letters.js';
import type { LedgerAccess } from '../ledger/ledger-access.js';
import type { LedgerClaim } from '../ledger/claims/ledger-claim.js';
import { withClaim } from '../ledger/claims/with-claim.js';
import { deleteLetters, finishPurge } from './purge-intent.js';
import type { PurgeRule } from './purge-limits.js';
import type { PurgedPartition, PurgeReport } from './purge-report.js';

/** Deletes letters, and what the ledger says about them, partition by partition. */
export async function purgeLetters(
  access: LedgerAccess,
  rules: readonly PurgeRule[],
  runtime: Runtime,
): Promise<PurgeReport> {
  const partitions: PurgedPartition[] = [];
  for (const rule of rules) partitions.push(await purgePartition(access, rule, runtime));
  return { deleted: partitions.reduce((sum, { deleted }) => sum + deleted, 0), partitions };
}

async function purgePartition(
  access: LedgerAccess,
  rule: PurgeRule,
  runtime: Runtime,
): Promise<PurgedPartition> {
  const { partition } = rule;
  const claimant = { partition, operation: 'purge', signal: new AbortController().signal };
  // Another claim may end this one after the deletion; the purge is then repeated, and finds less.
  let deleted = 0;
  const purge = async (claim: LedgerClaim): Promise<PurgedPartition> => {
    const from = await finishPurge(access, claim);
    const { end, letters, stoppedBy } = await rule.limit(from, claim.states);
    const onDeleted = (): void => void (deleted += letters);
    if (letters > 0) await deleteLetters(access, claim, { end, at: runtime.now(), onDeleted });
    await forgetLetters(claim, end, access);
    return { partition, low: end, deleted, ...(stoppedBy && { stoppedBy }) };
  };
  return withClaim({ ...access, runtime }, claimant, purge);
}
