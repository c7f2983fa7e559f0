import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { RedriveRefusedException } from '../../errors/redrive-errors.js';
import type { LedgerAccess } from '../ledger/ledger-access.js';
import { ledgerKeys, type LetterEntry } from '../ledger/ledger-entry.js';
import type { ReplayDelivery } from '../ledger/delivery.js';
import { superseding } from '../ledger/superseded.js';
import { withClaim } from '../ledger/claims/with-claim.js';
import { belongsTo, ReadLetter, type DeadLetterPosition } from '../letters/read-letters.js';
import { replayIdOf } from '../outcomes/replay-id.js';
import { finishPurge } from '../purging/purge-intent.js';
import { replayedRecord, type ReplayDestination } from '../running/replayed-record.js';
import { digestsOf, editedContent } from './edited-letter.js';
import type { LetterEdit } from './letter-edit.js';

/** The result of an edit: the id that the new record carries, and what has changed. */
export interface EditReport {
  readonly replayId: string;
  /** Digests of key and value. They are different if either was changed. */
  readonly digestBefore: string;
  readonly digestAfter: string;
  /** At least once if the cluster allows no transactions: a failure may write the record twice. */
  readonly delivery: ReplayDelivery;
}

export interface Editing {
  readonly position: DeadLetterPosition;
  readonly edit: LetterEdit;
  readonly destination: ReplayDestination;
  /** The id of this edit, which takes the place of an operation. */
  readonly id: string;
  readonly by: string;
  readonly reason: string;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/**
 * Writes a new record that is made of a letter, and resolves the letter in the same transaction. So
 * a letter is edited once, whatever dies in between. Without transactions the letter is resolved
 * afterwards, so a failure in between leaves it open although the record is written.
 */
export async function editAndReplay(access: LedgerAccess, editing: Editing): Promise<EditReport> {
  const { destination, edit, id, position, runtime } = editing;
  const { admin, driver, topics } = access;
  const letter = await letterAt(access, position);
  const content = editedContent(letter, edit);
  const digests = digestsOf(letter, content);
  const replayId = replayIdOf({ operation: id, ...position });
  const { partition, offset } = position;
  const claimant = { partition, operation: 'edit', signal: new AbortController().signal };
  const delivery = await withClaim({ admin, driver, topics, runtime }, claimant, async (claim) => {
    const low = await finishPurge({ admin, topics }, claim);
    const before = claim.states.letter(offset);
    if (offset < low) throw refusedBecause(access, position, 'was deleted');
    // A repeated attempt may find that the first one was committed.
    if (before?.operation === id) return claim.delivery;
    if (before && before.status !== 'open')
      throw refusedBecause(access, position, `is ${before.status}. Reopen it first`);
    const at = runtime.now();
    const entry: LetterEntry = {
      ...{ kind: 'letter', status: 'replayed', at, by: editing.by, reason: editing.reason },
      ...{ operation: id, replayId, to: destination.topic, times: (before?.times ?? 0) + 1 },
      edited: digests,
      ...superseding(before),
    };
    const key = ledgerKeys.letter(topics.deadLetterTopicId, partition, offset);
    const record = replayedRecord(letter, destination, { replayId, at }, content);
    await claim.commit([record], [[key, entry]]);
    return claim.delivery;
  });
  if (delivery === 'at-least-once')
    editing.logger.warn(
      'The cluster allows this edit no transactions, so its record may be written twice after a failure. Grant Write on transactional ids that begin with eventbus-redrive-, or use an idempotency store',
      { binding: access.binding.name, partition, offset },
    );
  return { replayId, ...digests, delivery };
}

async function letterAt(access: LedgerAccess, position: DeadLetterPosition): Promise<ReadLetter> {
  const { admin, binding, topics } = access;
  const { partition, offset } = position;
  if (topics.deadLetterPartitions.includes(partition))
    for await (const record of admin.readRange(topics.deadLetters, partition, offset, offset + 1)) {
      const letter = new ReadLetter(record);
      if (letter.offset === offset && belongsTo(letter, binding)) return letter;
    }
  throw refusedBecause(access, position, 'does not exist, or belongs to another binding');
}

const refusedBecause = (
  { binding }: LedgerAccess,
  { partition, offset }: DeadLetterPosition,
  complaint: string,
): RedriveRefusedException =>
  new RedriveRefusedException(
    binding.name,
    `the letter at partition ${partition}, offset ${offset} ${complaint}.`,
  );
