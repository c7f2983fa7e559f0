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

/** Replaces the name of a class that no header contains. */
export const UNKNOWN_CLASS = 'unknown';

/** Tiers of one binding. The limit also bounds headers that another producer wrote. */
export const MOST_TIERS = 100;

const TIER_HEADER = /^x-eventbus-tier(\d{1,2}|100)-(?:exception|exhausted-at|attempts)$/;

export const isTierHeader = (name: string): boolean => TIER_HEADER.test(name);

/** Reads the failures per tier, in the order of the tiers. `exhaustedAt` replaces a missing time. */
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
