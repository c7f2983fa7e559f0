import { ExceptionRouting } from '../../../model/outcomes/exception-routing.js';
import { isSameMatcher, formatMatcher } from '../../error-matching/error-matcher.js';
import type { ResolvedExceptionRoute } from '../../resolving/resolved-binding.js';
import type { BindingRule, Finding } from './binding-rule.js';
import { missingTier } from './missing-tier.js';

export const exceptionRoutingRules: readonly BindingRule[] = [
  {
    rule: 'EXCEPTION_ROUTING',
    reads: ['exceptionRouting', 'retry.tiers', 'orderingMode'],
    check: ({ binding }) =>
      binding.exceptionRouting.flatMap((route, index) => {
        const why = tierComplaint(route, (tier) => missingTier(tier, binding));
        return why ? [finding(index, 'tier', route.tier, why)] : [];
      }),
  },
  {
    rule: 'EXCEPTION_ROUTING_TWICE',
    reads: ['exceptionRouting'],
    check: ({ binding: { exceptionRouting } }) =>
      exceptionRouting.flatMap(({ match }, index) => {
        const earlier = exceptionRouting.slice(0, index);
        const first = earlier.findIndex((route) => isSameMatcher(route.match, match));
        if (first === -1) return [];
        const message = `names ${formatMatcher(match)} a second time; entry ${first} has it already. Remove one of them.`;
        return [finding(index, 'match', match, message)];
      }),
  },
];

function tierComplaint(
  { routing, tier }: ResolvedExceptionRoute,
  whyMissing: (tier: number) => string | undefined,
): string | undefined {
  if (routing !== ExceptionRouting.SKIP_TO_TIER)
    return tier === undefined
      ? undefined
      : `is for SKIP_TO_TIER only, and the routing is ${routing}. Remove it.`;
  return tier === undefined
    ? `is missing: SKIP_TO_TIER needs a tier to skip to. Add tier: 2.`
    : whyMissing(tier);
}

const finding = (index: number, key: string, value: unknown, message: string): Finding => ({
  key: `exceptionRouting[${index}].${key}`,
  value,
  message,
});
