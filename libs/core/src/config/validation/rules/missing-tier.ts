import type { ResolvedBinding } from '../../resolving/resolved-binding.js';

/** Returns why a record cannot skip to this tier; undefined if the tier exists. */
export function missingTier(
  tier: number,
  { retry, orderingMode }: Pick<ResolvedBinding, 'retry' | 'orderingMode'>,
): string | undefined {
  if (tier <= retry.tiers.length) return undefined;
  const why = orderingMode === 'STRICT' ? ', since the ordering is STRICT' : '';
  const existing =
    retry.tiers.length === 0
      ? `the binding has no tiers${why}`
      : `the binding has only ${retry.tiers.length}`;
  return `skips to tier ${tier}, but ${existing}. Name a tier that exists or add it to retry.tiers.`;
}
