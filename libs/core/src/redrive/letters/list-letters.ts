import type { AdminSession } from '@nest-event-bus/broker';
import type { ReplayOutcome } from '../../model/outcomes/replay-outcomes.js';
import { readDeadLetter } from '../../failures/headers/read-dead-letter.js';
import type { DltRecord } from '../../model/records/dlt-record.js';
import type { LedgerTopics } from '../ledger/ledger-topic.js';
import type { LetterEntry, LetterStatus, OutcomeEntry } from '../ledger/ledger-entry.js';
import type { PartitionStates, StoredLetter } from '../ledger/partition-states.js';
import { readStates } from '../ledger/read-states.js';
import { compileFilter, fixAges, type DeadLetterFilter } from './dead-letter-filter.js';
import { refused } from './filter-conditions.js';
import {
  belongsTo,
  ReadLetter,
  type DeadLetterPosition,
  type LetterOwner,
} from './read-letters.js';

export interface ListOptions {
  /** Lists only letters that match. Default: all letters of the binding. */
  readonly where?: DeadLetterFilter;
  /** Lists only letters with this status. Default: any. */
  readonly status?: LetterStatus;
  /** The largest number of letters: 1 to 1000. Default 50. */
  readonly limit?: number;
  /** Lists letters after this position: `next` of the previous page. */
  readonly after?: DeadLetterPosition;
  readonly signal?: AbortSignal;
}

/** How the replay of a letter ended, and where. */
export interface LetterOutcome extends ReplayOutcome {
  /** The name of the host that ended the record. */
  readonly node: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A dead letter with what became of it. */
export interface ListedDeadLetter {
  readonly position: DeadLetterPosition;
  readonly status: LetterStatus;
  /** The last decision about the letter; undefined if nobody has decided. */
  readonly decision?: Omit<LetterEntry, 'kind' | 'supersedes' | 'earlier'>;
  /** How its replay ended. Undefined if it was not replayed, or if that is not known yet. */
  readonly outcome?: LetterOutcome;
  /** The id of the group of letters with the same cause. */
  readonly group: string;
  readonly letter: DltRecord;
}

export interface DeadLetterPage {
  readonly letters: readonly ListedDeadLetter[];
  /** Pass it as `after` for the next page. Undefined at the end. */
  readonly next?: DeadLetterPosition;
}

export interface ListParts {
  readonly admin: Pick<AdminSession, 'readRange' | 'watermarks'>;
  /** Undefined if the ledger does not exist yet, so that all letters are open. */
  readonly topics: LedgerTopics | undefined;
  readonly owner: LetterOwner;
  /** The time from which ages are counted. */
  readonly now: number;
}

const DEFAULT_LIMIT = 50;
const MOST_LISTED = 1_000;
/** A page reads at most this many letters, so that a rare match never takes minutes. */
const MOST_READ = 50_000;

/** Reads one page of dead letters, partition by partition. */
export async function listLetters(
  parts: ListParts,
  { where, status, limit = DEFAULT_LIMIT, after, signal }: ListOptions,
): Promise<DeadLetterPage> {
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST_LISTED)
    throw refused('limit', `must be 1 to ${MOST_LISTED}`);
  const matches = where === undefined ? () => true : compileFilter(fixAges(where, parts.now));
  const { admin, owner } = parts;
  const letters: ListedDeadLetter[] = [];
  let read = 0;
  for (const { partition, low, high } of await admin.watermarks(owner.dlt.topic)) {
    if (after && partition < after.partition) continue;
    const from = after?.partition === partition ? after.offset + 1 : low;
    if (from >= high) continue;
    const outcomes = { from, most: MOST_READ };
    const states = await readStates({ ...parts, signal, outcomes }, partition);
    for await (const record of admin.readRange(owner.dlt.topic, partition, from, high, {
      signal,
    })) {
      const letter = new ReadLetter(record);
      const isListed =
        belongsTo(letter, owner) &&
        (status === undefined || states.statusOf(letter.offset) === status) &&
        matches(letter);
      if (isListed) letters.push(listed(letter, states));
      if (letters.length === limit || ++read === MOST_READ)
        return { letters, next: { partition, offset: letter.offset } };
    }
  }
  return { letters };
}

function listed(letter: ReadLetter, states: PartitionStates): ListedDeadLetter {
  const { partition, offset } = letter.record;
  const entry = states.letter(offset);
  const ended = states.outcomeOf(offset);
  return {
    position: { partition, offset },
    status: entry?.status ?? 'open',
    ...(entry && { decision: decisionOf(entry) }),
    ...(entry?.status === 'replayed' && ended && { outcome: outcomeOf(ended) }),
    group: letter.group,
    letter: readDeadLetter(letter.record),
  };
}

function outcomeOf({ at, node, reason, result, tier }: OutcomeEntry): LetterOutcome {
  return { result, tier, ...(reason !== undefined && { reason }), node, at };
}

function decisionOf(entry: StoredLetter): NonNullable<ListedDeadLetter['decision']> {
  const { at, by, edited, operation, reason, replayId, status, times, to } = entry;
  return { status, at, by, times, operation, reason, replayId, to, edited };
}
