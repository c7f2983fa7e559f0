import { durationComplaint, parseDuration } from '../../config/reading/duration.js';
import { InvalidAdminRequestException } from '../../errors/admin-errors.js';
import type { RedriveRequest } from '../../redrive/redrive-request.js';

/** Which letters a replay selects: the oldest ones, those of a time range, or all. */
export interface ReplaySelectionQuery {
  readonly count?: number;
  readonly from?: string | number;
  readonly to?: string | number;
  readonly all?: true;
}

const DEFAULT_WAIT_MS = 30_000;
export const LONGEST_WAIT_MS = 300_000;
const ISO_DURATION =
  /^P(?=\d|T\d)(?:(\d{1,6})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,8})H)?(?:(\d{1,9})M)?(?:(\d{1,9})S)?)?$/;
const ISO_UNITS_MS = [604_800_000, 86_400_000, 3_600_000, 60_000, 1_000];

/** Requires exactly one way of selecting, so that nothing is replayed by accident. */
export function replaySelection({
  count,
  from,
  to,
  all,
}: ReplaySelectionQuery): Pick<RedriveRequest, 'limit' | 'where' | 'all'> {
  const hasRange = from !== undefined || to !== undefined;
  const ways = [count !== undefined, hasRange, all !== undefined].filter(Boolean).length;
  if (ways !== 1)
    throw refused('count', 'or from and to, or all=true must be given, and only one of them');
  if (count !== undefined) return { limit: count };
  if (all) return { all };
  const range = {
    ...(from !== undefined && { from: millisecondsOf(from) }),
    ...(to !== undefined && { to: millisecondsOf(to) }),
  };
  return { where: { deadLetteredAt: range } };
}

export function waitTime(wait: string | undefined): number {
  return wait === undefined ? DEFAULT_WAIT_MS : durationOf('wait', wait, LONGEST_WAIT_MS);
}

/** Reads a duration of the query. */
export function durationOf(name: string, duration: string, mostMs: number): number {
  const complaint = durationComplaint(duration);
  if (complaint !== undefined) throw refused(name, `is no duration. ${complaint}`);
  const milliseconds = parseDuration(duration);
  if (milliseconds > mostMs) throw refused(name, `must be at most '${mostMs / 60_000}m'`);
  return milliseconds;
}

/** Reads a time, or a duration before now. */
export function purgeTime(olderThan: string | undefined, now: number): number {
  const text = olderThan ?? '';
  const iso = ISO_DURATION.exec(text);
  if (iso) {
    const parts = iso.slice(1).map((part, index) => Number(part ?? 0) * (ISO_UNITS_MS[index] ?? 0));
    return Math.max(0, now - parts.reduce((sum, part) => sum + part, 0));
  }
  if (durationComplaint(text) === undefined) return now - parseDuration(text);
  const time = /^\d{4}-\d{2}-\d{2}(T|$)/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time) || time < 0)
    throw refused(
      'olderThan',
      "must be a time in ISO 8601, an ISO duration such as 'P7D', or a text such as '7d'",
    );
  if (time > now) throw refused('olderThan', 'must not be in the future');
  return time;
}

const millisecondsOf = (time: string | number): number =>
  typeof time === 'number' ? time : Date.parse(time);

function refused(name: string, message: string): InvalidAdminRequestException {
  return new InvalidAdminRequestException([{ path: `query.${name}`, message }]);
}
