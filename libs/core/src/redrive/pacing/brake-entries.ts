import type { BrakeEntry } from '../ledger/ledger-entry.js';

/** A node that is paused writes its brake again after this time. */
export const CONFIRM_EVERY_MS = 30_000;
/** Several times longer, because the clocks of two nodes may differ. */
const LASTS_MS = 4 * CONFIRM_EVERY_MS;

/** Returns whether the node still holds its brake. A node that has died does not confirm it. */
export function isHeld({ at, confirmedAt = at }: BrakeEntry, now: number): boolean {
  return now - confirmedAt < LASTS_MS;
}
