import type { ResolvedBinding } from '../../resolving/resolved-binding.js';

/** What is wrong with skipping to this tier; undefined where nothing is. */
export function missingTier(
  tier: number,
  { retry, orderingMode }: Pick<ResolvedBinding, 'retry' | 'orderingMode'>,
): string | undefined {
  if (tier <= retry.tiers.length) return undefined;
  const why = orderingMode === 'STRICT' ? ', since the ordering is STRICT' : '';
  const there =
    retry.tiers.length === 0
      ? `the binding has no tiers${why}`
      : `the binding has only ${retry.tiers.length}`;
  return `skips to tier ${tier}, but ${there}. Name a tier that exists or add it to retry.tiers.`;
}
