import { InvalidOptionError } from '../../port/errors.js';

export interface WholeNumberRange {
  readonly min: number;
  readonly max: number;
}

export const COUNT: WholeNumberRange = { min: 0, max: 2 ** 31 - 1 };
export const SMALL_COUNT: WholeNumberRange = { min: 0, max: 2 ** 15 - 1 };
export const OFFSET: WholeNumberRange = { min: 0, max: Number.MAX_SAFE_INTEGER };
/** The valid offsets of an admin call; -1 means the end of the log. */
export const OFFSET_OR_END: WholeNumberRange = { min: -1, max: Number.MAX_SAFE_INTEGER };

/**
 * Rejects an invalid number before it is sent. A number outside of the range of the protocol field
 * would fail during encoding, and look like a broken connection.
 */
export function requireWholeNumber(
  what: string,
  value: number,
  { min, max }: WholeNumberRange,
): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  throw new InvalidOptionError(
    `${what} must be a whole number from ${min} to ${max}; got ${String(value)}.`,
  );
}
