import type { RecordHeader } from '@nest-event-bus/broker';
import { tierHeaders } from './event-bus-headers.js';
import { headerCount } from './header-number.js';
import { headerText } from './header-text.js';

/** The failures of a record in one tier; tier 0 is the main topic. */
export interface TierFailureRecord {
  readonly tier: number;
  readonly exceptionClass: string;
  readonly exhaustedAt: number;
  readonly attempts: number;
}

/** Stands for the name of a class if no header contains it. */
export const UNKNOWN_CLASS = 'unknown';

/**
 * Maximal number of tiers of a binding. The limit also applies to headers, which another producer
 * may have written.
 */
export const MOST_TIERS = 100;

/**
 * Limit for counters in headers, which another producer may have written. Sums of them stay exact.
 */
export const MOST_ATTEMPTS = 1_000_000_000;

const TIER_HEADER = /^x-eventbus-tier(\d{1,2}|100)-(?:exception|exhausted-at|attempts)$/;

/** The pattern is slower than this comparison, and nearly all names are others. */
export const isTierHeader = (name: string): boolean =>
  name.startsWith('x-eventbus-tier') && TIER_HEADER.test(name);

/**
 * Reads the failures per tier, in the order of the tiers. `exhaustedAt` is used if the time of a
 * tier is missing.
 */
export function readTierHistory(
  headers: readonly RecordHeader[],
  exhaustedAt: number,
): readonly TierFailureRecord[] {
  const tiers = new Set(headers.flatMap(({ key }) => TIER_HEADER.exec(key)?.[1] ?? []));
  return [...new Set([...tiers].map(Number))]
    .toSorted((one, other) => one - other)
    .map((tier) => {
      const names = tierHeaders(tier);
      return {
        tier,
        exceptionClass: headerText(headers, names.exception) || UNKNOWN_CLASS,
        exhaustedAt: headerCount(headers, names.exhaustedAt) ?? exhaustedAt,
        attempts: Math.min(headerCount(headers, names.attempts) ?? 0, MOST_ATTEMPTS),
      };
    });
}
