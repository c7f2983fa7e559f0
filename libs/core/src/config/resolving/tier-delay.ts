import type { ResolvedTier } from './resolved-binding.js';

type Delays = Pick<ResolvedTier, 'delayMs' | 'multiplier' | 'maxDelayMs' | 'maxAttempts'>;

/** Before a delivery in this tier, the first of which is 1. */
export const delayMsOf = (
  { delayMs, multiplier, maxDelayMs }: Omit<Delays, 'maxAttempts'>,
  delivery: number,
): number => Math.min(delayMs * multiplier ** (delivery - 1), Math.max(delayMs, maxDelayMs));

/** Of all deliveries in this tier the last one waits longest. */
export const longestDelayMs = (tier: Delays): number => delayMsOf(tier, tier.maxAttempts);
