import { BrokerError, type AdminSession } from '@nest-event-bus/broker';
import type { LedgerClaim } from '../ledger/claims/ledger-claim.js';
import { ledgerKeys } from '../ledger/ledger-entry.js';
import type { LedgerTopics } from '../ledger/ledger-topic.js';

export interface PurgedLog {
  readonly admin: Pick<AdminSession, 'deleteRecords' | 'watermarks'>;
  readonly topics: LedgerTopics;
}

/** What to delete. `end` is the offset after the last letter. */
export interface Deletion {
  readonly end: number;
  readonly at: number;
  readonly onDeleted: () => void;
}

/**
 * Deletes the letters before `end`. The intent is written to the ledger first: whoever claims the
 * partition later finishes the deletion before a letter is decided about. So nobody opens a letter
 * that is then deleted.
 */
export async function deleteLetters(
  log: PurgedLog,
  claim: LedgerClaim,
  { end, at, onDeleted }: Deletion,
): Promise<void> {
  await claim.commit([], [[intentKey(log, claim), { kind: 'purge', end, at }]]);
  await deleteAsIntended(log, claim, end, onDeleted);
}

/** Finishes the purge of a process that has died. Resolves with the first letter that exists. */
export async function finishPurge(log: PurgedLog, claim: LedgerClaim): Promise<number> {
  const { purgedTo } = claim.states;
  if (purgedTo !== undefined) await deleteAsIntended(log, claim, purgedTo);
  const marks = await log.admin.watermarks(log.topics.deadLetters);
  return marks.find(({ partition }) => partition === claim.partition)?.low ?? 0;
}

async function deleteAsIntended(
  log: PurgedLog,
  claim: LedgerClaim,
  offset: number,
  onDeleted: () => void = () => undefined,
): Promise<void> {
  const { admin, topics } = log;
  const forgetIntent = (): Promise<void> => claim.commit([], [[intentKey(log, claim), null]]);
  try {
    await admin.deleteRecords(topics.deadLetters, [{ partition: claim.partition, offset }]);
  } catch (error) {
    const mayStillHappen = error instanceof BrokerError && error.retriable;
    // The cause is more useful than the failure of this write, and the intent is only read again.
    if (!mayStillHappen) await forgetIntent().catch(() => undefined);
    throw error;
  }
  onDeleted();
  await forgetIntent();
}

const intentKey = ({ topics }: PurgedLog, { partition }: LedgerClaim): string =>
  ledgerKeys.purge(topics.deadLetterTopicId, partition);
