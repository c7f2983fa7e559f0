import type { DeadLetterFilter } from './letters/dead-letter-filter.js';
import { durationComplaint, parseDuration, type Duration } from '../config/reading/duration.js';
import { refused } from './letters/filter-conditions.js';
import type { RedriveTarget } from './planning/redrive-plan.js';

/** What to redrive. Select by `where`, or write `all: true`, or give a `limit` for the oldest. */
export interface RedriveRequest {
  readonly where?: DeadLetterFilter;
  /** Selects every open letter of the binding. */
  readonly all?: boolean;
  /** The largest number of letters: the oldest ones. */
  readonly limit?: number;
  /** Default `'origin'`: the topic of the binding. */
  readonly to?: RedriveTarget;
  /** The operator, for the ledger. Default: the name of this host. */
  readonly by?: string;
  /** Why, for the ledger. */
  readonly reason?: string;
  readonly signal?: AbortSignal;
}

export interface RunOptions {
  /** The largest number of letters per second in this process. Default: no limit. */
  readonly rate?: number;
  /** The operator, for the ledger. Default: the operator of the plan. */
  readonly by?: string;
  /** Stops the run in this process after the batch in flight. `run` resumes it. */
  readonly signal?: AbortSignal;
}

const LONGEST_NOTE = 1_000;
const KNOWN_KEYS = ['where', 'all', 'limit', 'to', 'by', 'reason', 'signal', 'rate'];

/** Refuses a request that selects nothing on purpose, or everything by accident. */
export function checkRequest(request: RedriveRequest): void {
  const unknown = Object.keys(request).find((key) => !KNOWN_KEYS.includes(key));
  if (unknown !== undefined) throw refused('request', `has no '${unknown.slice(0, 100)}'`);
  const { where, all, limit } = request;
  if (where !== undefined && all === true) throw refused('all', 'cannot be combined with where');
  if (where === undefined && all !== true && limit === undefined)
    throw refused('where', 'is missing. Write all: true to select every open letter');
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0))
    throw refused('limit', 'must be a whole number above 0');
  checkNote(request);
}

export function checkNote({
  by,
  reason,
}: {
  readonly by?: string;
  readonly reason?: string;
}): void {
  for (const [name, note] of Object.entries({ by, reason }))
    if (note !== undefined && (typeof note !== 'string' || note.length > LONGEST_NOTE))
      throw refused(name, `must be a text of at most ${LONGEST_NOTE} characters`);
}

/** What to purge: letters older than an age, or the letters of a plan. */
export interface PurgeRequest {
  readonly olderThan?: Duration;
  /** The id of a plan. */
  readonly plan?: string;
  /** Why, for the ledger. */
  readonly reason?: string;
  /** The operator, for the ledger. Default: the name of this host. */
  readonly by?: string;
}

/** Returns the time before which letters are purged; undefined to purge by plan. */
export function purgedBefore({ olderThan, plan }: PurgeRequest, now: number): number | undefined {
  if ((olderThan === undefined) === (plan === undefined))
    throw refused('olderThan', 'or plan must be given, and not both');
  if (olderThan === undefined) return undefined;
  const complaint = durationComplaint(olderThan);
  if (complaint !== undefined) throw refused('olderThan', `is no duration. ${complaint}`);
  return now - parseDuration(olderThan);
}

export function checkRate(rate: number | undefined): void {
  if (rate !== undefined && !(Number.isFinite(rate) && rate > 0))
    throw refused('rate', 'must be a number above 0');
}
