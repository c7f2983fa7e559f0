/**
 * Returns the smallest value that so many of all values do not exceed; 0 if there are none.
 * @param {readonly number[]} values
 * @param {number} share between 0 and 1
 */
export function percentile(values, share) {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.max(Math.ceil(sorted.length * share) - 1, 0)] ?? 0;
}

/** @param {readonly number[]} values */
export const median = (values) => percentile(values, 0.5);

/** @param {readonly number[]} values */
export const maximum = (values) => percentile(values, 1);

/**
 * Returns how many of a hundred values pass, with one decimal.
 * @template T
 * @param {readonly T[]} values
 * @param {(value: T) => boolean} passes
 */
export function percentOf(values, passes) {
  if (values.length === 0) return 0;
  return Math.round((1000 * values.filter(passes).length) / values.length) / 10;
}
