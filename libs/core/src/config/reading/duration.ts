/** Duration in milliseconds, or a number with its unit: `250`, `'250ms'`, `'10s'`, `'5m'`, `'1h'`, `'7d'`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;

/** Limit of Node's timers and of the broker's 32-bit fields, almost 25 days. */
export const LONGEST_DURATION_MS = 2 ** 31 - 1;

const MILLISECONDS: Readonly<Record<string, number>> = Object.freeze({
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
});

const FORMAT = /^(\d{1,15}(?:\.\d{1,9})?)\s*(ms|s|m|h|d)$/;

/** Returns the duration in milliseconds. Throws a TypeError for an invalid duration. */
export function parseDuration(duration: unknown): number {
  const milliseconds = readDuration(duration);
  if (typeof milliseconds === 'string') throw new TypeError(milliseconds);
  return milliseconds;
}

export function isDuration(value: unknown): value is Duration {
  return typeof readDuration(value) === 'number';
}

/** Returns why the value is no duration; undefined for a valid one. */
export function durationComplaint(value: unknown): string | undefined {
  const read = readDuration(value);
  return typeof read === 'string' ? read : undefined;
}

function readDuration(value: unknown): number | string {
  if (typeof value === 'number') return wholeMilliseconds(value, String(value));
  if (typeof value !== 'string') return `A duration is ${EXPECTED}.`;
  const [, amount, unit] = FORMAT.exec(value.trim()) ?? [];
  if (amount !== undefined && unit !== undefined) {
    // Rounded to the nanosecond: 1.1 * 60_000 is not 66_000 in binary.
    const exact = Math.round(Number(amount) * (MILLISECONDS[unit] ?? 1) * 1e6) / 1e6;
    return wholeMilliseconds(exact, `'${value}'`);
  }
  if (/^\d+$/.test(value)) return `'${value}' has no unit: write ${value} or '${value}ms'.`;
  return `'${value.slice(0, 40)}' is no duration. Write ${EXPECTED}.`;
}

const EXPECTED = `a number of milliseconds, or a text like '250ms', '10s', '5m', '1h' or '7d'`;

function wholeMilliseconds(milliseconds: number, given: string): number | string {
  if (!Number.isInteger(milliseconds)) return `${given} is not a whole number of milliseconds.`;
  if (milliseconds < 0) return `${given} is negative. A duration is 0 or more.`;
  if (milliseconds > LONGEST_DURATION_MS) {
    return `${given} is longer than ${LONGEST_DURATION_MS} ms (almost 25 days), which is the longest that can be waited for.`;
  }
  return milliseconds;
}
