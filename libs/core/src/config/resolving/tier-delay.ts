import type { ResolvedTier } from './resolved-binding.js';

type Delays = Pick<ResolvedTier, 'delayMs' | 'multiplier' | 'maxDelayMs' | 'maxAttempts'>;

/** Returns the delay before a delivery in this tier. The first delivery is 1. */
export const delayMsOf = (
  { delayMs, multiplier, maxDelayMs }: Omit<Delays, 'maxAttempts'>,
  delivery: number,
): number => Math.min(delayMs * multiplier ** (delivery - 1), Math.max(delayMs, maxDelayMs));

/** Returns the delay of the last delivery in this tier, which is the longest. */
export const longestDelayMs = (tier: Delays): number => delayMsOf(tier, tier.maxAttempts);
