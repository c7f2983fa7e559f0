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

/** In the place of a class that no header names. */
export const UNKNOWN_CLASS = 'unknown';

/** Of one binding. What a stranger wrote into the headers stays bounded by it, too. */
export const MOST_TIERS = 100;

const TIER_HEADER = /^x-eventbus-tier(\d{1,2}|100)-(?:exception|exhausted-at|attempts)$/;

export const isTierHeader = (name: string): boolean => TIER_HEADER.test(name);

/** What the headers tell of each tier, in the order of the tiers. `exhaustedAt` stands in where none is told. */
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
        attempts: headerCount(headers, names.attempts) ?? 0,
      };
    });
}
