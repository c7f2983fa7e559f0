import { durationComplaint, parseDuration, type Duration } from '../../config/reading/duration.js';
import { refused } from '../letters/filter-conditions.js';
import type { BrakeLimits } from './brake.js';

/** A rate that grows while all goes well. */
export interface RampOptions {
  /** Letters per second at the beginning, and after each brake. */
  readonly from: number;
  /** The largest number of letters per second. */
  readonly to: number;
  /** The rate doubles after this time, unless a letter came back meanwhile. */
  readonly every: Duration;
}

/** When an operation pauses itself. It goes on by itself when the cause is over. */
export interface BrakeOptions {
  /** Pauses while the circuit of the binding is open in this process. Default true. */
  readonly circuit?: boolean;
  /**
   * Pauses when so many letters of the same groups of cause were dead-lettered since the operation
   * began, or went on. Default 100. `false` for no limit.
   */
  readonly returned?: number | false;
  /** Pauses when the group of the target has more records than this before it. Default: no limit. */
  readonly lag?: number;
  /** After returned letters, goes on when none came back for this time. Default one minute. */
  readonly quiet?: Duration;
}

export interface Ramp {
  readonly from: number;
  readonly to: number;
  readonly everyMs: number;
}

const DEFAULT_RETURNED = 100;
const DEFAULT_QUIET_MS = 60_000;

export function rampOf(given: RampOptions | undefined): Ramp | undefined {
  if (given === undefined) return undefined;
  requireKeys('ramp', given, ['from', 'to', 'every']);
  const { from, to, every } = given;
  requireAboveZero('ramp.from', from);
  requireAboveZero('ramp.to', to);
  if (from > to) throw refused('ramp.from', 'must not be above ramp.to');
  const everyMs = durationOf('ramp.every', every);
  if (everyMs === 0) throw refused('ramp.every', 'must be above 0');
  return { from, to, everyMs };
}

export function brakeLimitsOf(given: BrakeOptions = {}): BrakeLimits {
  requireKeys('brakes', given, ['circuit', 'returned', 'lag', 'quiet']);
  const { circuit = true, returned = DEFAULT_RETURNED, lag, quiet = DEFAULT_QUIET_MS } = given;
  if (typeof circuit !== 'boolean') throw refused('brakes.circuit', 'must be true or false');
  if (returned !== false && !(Number.isSafeInteger(returned) && returned > 0))
    throw refused('brakes.returned', 'must be a whole number above 0, or false');
  if (lag !== undefined) requireAboveZero('brakes.lag', lag);
  const quietMs = durationOf('brakes.quiet', quiet);
  return { circuit, returned: returned === false ? undefined : returned, lag, quietMs };
}

export function requireAboveZero(field: string, value: unknown): void {
  if (!(typeof value === 'number' && Number.isFinite(value) && value > 0))
    throw refused(field, 'must be a number above 0');
}

function requireKeys(field: string, given: unknown, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null) throw refused(field, 'must be an object');
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  if (unknown !== undefined) throw refused(field, `has no '${unknown.slice(0, 100)}'`);
}

function durationOf(field: string, value: unknown): number {
  const complaint = durationComplaint(value);
  if (complaint !== undefined) throw refused(field, `is no duration. ${complaint}`);
  return parseDuration(value);
}
