import type { ResolvedTier0 } from '../../config/resolving/resolved-binding.js';

/**
 * Returns the wait. With jitter, one half of it is fixed and the other half is random, so that many
 * records do not retry at the same moment. The random part only shortens the wait, so the cap and
 * the calculated retry budget still apply.
 */
export function waitAfter(tier0: ResolvedTier0, call: number, chance: number): number {
  const { initialBackoffMs, multiplier, maxBackoffMs, jitter } = tier0;
  if (initialBackoffMs === 0) return 0;
  // The power becomes Infinity for a large number of calls, and the cap applies.
  const full = Math.min(initialBackoffMs * multiplier ** (call - 1), maxBackoffMs);
  return jitter === 'none' ? full : full * (1 - chance / 2);
}
