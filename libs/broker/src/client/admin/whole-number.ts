import { InvalidOptionError } from '../../port/errors.js';

export interface WholeNumber {
  readonly least: number;
  readonly most: number;
}

export const COUNT: WholeNumber = { least: 0, most: 2 ** 31 - 1 };
export const SMALL_COUNT: WholeNumber = { least: 0, most: 2 ** 15 - 1 };
export const OFFSET: WholeNumber = { least: 0, most: Number.MAX_SAFE_INTEGER };
/** -1 is the end of the log. */
export const OFFSET_OR_END: WholeNumber = { least: -1, most: Number.MAX_SAFE_INTEGER };

/** Before anything is sent: what does not fit the protocol's field would be taken for a broken connection. */
export function requireWhole(what: string, value: number, { least, most }: WholeNumber): void {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return;
  throw new InvalidOptionError(
    `${what} must be a whole number from ${least} to ${most}; got ${String(value)}.`,
  );
}
