import { fixAges, type DeadLetterFilter } from './letters/dead-letter-filter.js';
import { isPlainObject } from '../config/reading/plain-object.js';
import { durationComplaint, parseDuration, type Duration } from '../config/reading/duration.js';
import { canaryOf, type CanaryOptions } from './canary/canary-options.js';
import {
  brakeLimitsOf,
  rampOf,
  requireAboveZero,
  type BrakeOptions,
  type RampOptions,
} from './pacing/pacing-options.js';
import { refused } from './letters/filter-conditions.js';
import type { DeadLetterPosition } from './letters/read-letters.js';
import { checkTarget } from './planning/target-topic.js';
import type { RedriveTarget } from './planning/redrive-plan.js';

/** What to redrive. Select by `where`, or write `all: true`, or give a `limit` for the oldest. */
export interface RedriveRequest {
  /**
   * The id of the plan: up to 64 letters, digits, `.`, `_` and `-`. A second request with the same
   * id and the same selection returns the plan of the first. Default: a random id.
   */
  readonly id?: string;
  readonly where?: DeadLetterFilter;
  /** Selects every open letter of the binding. */
  readonly all?: boolean;
  /** The largest number of letters: the oldest ones. */
  readonly limit?: number;
  /**
   * Default `'origin'`: the topic of the binding. `{ topic }` is another topic of the cluster, which
   * must exist. Its records are new ones for whoever reads it, so no outcome of them is known.
   */
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
  /** A rate that grows while all goes well. Cannot be combined with `rate`. */
  readonly ramp?: RampOptions;
  /**
   * Replays a few letters first, and the rest only if all of them were handled. A later run of the
   * same operation keeps to it, and need not name it.
   */
  readonly canary?: number | CanaryOptions;
  /** When the operation pauses itself. */
  readonly brakes?: BrakeOptions;
  /** The operator, for the ledger. Default: the operator of the plan. */
  readonly by?: string;
  /** Stops the run in this process after the batch in flight. `run` resumes it. */
  readonly signal?: AbortSignal;
}

/** Ids are parts of the keys of the ledger, which are separated by slashes. */
const PLAN_ID = /^[\w.-]{1,64}$/;
const LONGEST_NOTE = 1_000;
const KNOWN_KEYS = ['id', 'where', 'all', 'limit', 'to', 'by', 'reason', 'signal'];
const PURGE_KEYS = ['olderThan', 'before', 'plan', 'reason', 'by'];
const RUN_KEYS = ['rate', 'ramp', 'canary', 'brakes', 'by', 'signal'];

/** Refuses a request that selects nothing on purpose, or everything by accident. */
export function checkRequest(request: RedriveRequest): void {
  const unknown = Object.keys(request).find((key) => ![...KNOWN_KEYS, ...RUN_KEYS].includes(key));
  if (unknown !== undefined) throw refused('request', `has no '${unknown.slice(0, 100)}'`);
  const { where, all, limit } = request;
  if (where !== undefined && all === true) throw refused('all', 'cannot be combined with where');
  if (where === undefined && all !== true && limit === undefined)
    throw refused('where', 'is missing. Write all: true to select every open letter');
  // The present time is no part of what is checked.
  if (where !== undefined) fixAges(where, 0);
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0))
    throw refused('limit', 'must be a whole number above 0');
  const { id } = request;
  if (id !== undefined && !(typeof id === 'string' && PLAN_ID.test(id)))
    throw refused('id', "must have 1 to 64 letters, digits, '.', '_' or '-'");
  checkTarget(request.to);
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

/** What to purge: letters older than an age, before a time, or the letters of a plan. */
export interface PurgeRequest {
  readonly olderThan?: Duration;
  /** Purges the letters before this time, in milliseconds since 1970. */
  readonly before?: number;
  /** The id of a plan. */
  readonly plan?: string;
  /** Why, for the ledger. */
  readonly reason?: string;
  /** The operator, for the ledger. Default: the name of this host. */
  readonly by?: string;
}

/** Returns the time before which letters are purged; undefined to purge by plan. */
export function purgedBefore(request: PurgeRequest, now: number): number | undefined {
  const unknown = Object.keys(request).find((key) => !PURGE_KEYS.includes(key));
  if (unknown !== undefined) throw refused('request', `has no '${unknown.slice(0, 100)}'`);
  const { olderThan, before, plan } = request;
  const given = [olderThan, before, plan].filter((each) => each !== undefined);
  if (given.length !== 1)
    throw refused('olderThan', 'or before or plan must be given, and only one of them');
  if (before !== undefined) {
    if (Number.isSafeInteger(before) && before >= 0 && before <= now) return before;
    throw refused('before', 'must be a time of the past, in milliseconds since 1970');
  }
  if (olderThan === undefined) return undefined;
  const complaint = durationComplaint(olderThan);
  if (complaint !== undefined) throw refused('olderThan', `is no duration. ${complaint}`);
  return now - parseDuration(olderThan);
}

export function checkPosition(position: unknown): asserts position is DeadLetterPosition {
  const { partition, offset } = isPlainObject(position) ? position : {};
  if (![partition, offset].every((each) => Number.isSafeInteger(each) && Number(each) >= 0))
    throw refused('position', 'must be { partition, offset } with whole numbers from 0 on');
}

/** Refuses options of a run that are not valid, before anything is read. */
export function checkRunOptions({ brakes, by, canary, ramp, rate }: RunOptions): void {
  if (rate !== undefined) requireAboveZero('rate', rate);
  if (rate !== undefined && ramp !== undefined)
    throw refused('ramp', 'cannot be combined with rate');
  rampOf(ramp);
  if (canary !== undefined) canaryOf(canary);
  brakeLimitsOf(brakes);
  checkNote({ by });
}

/** Refuses options that a run does not have. */
export function checkRunKeys(options: RunOptions): void {
  const unknown = Object.keys(options).find((key) => !RUN_KEYS.includes(key));
  if (unknown !== undefined) throw refused('options', `has no '${unknown.slice(0, 100)}'`);
}
