import { MOST_TIERS } from '../../../model/records/tier-history.js';
import {
  isSameMatcher,
  formatMatcher,
  type ErrorMatcher,
} from '../../error-matching/error-matcher.js';
import type { BindingRule, Finding } from './binding-rule.js';
import { missingTier } from './missing-tier.js';

export const retryRules: readonly BindingRule[] = [
  {
    rule: 'STRICT_TIERS',
    reads: ['orderingMode', 'retry.tiers'],
    check: ({ binding: { orderingMode, retry }, is }) => {
      // The default tiers are removed with STRICT ordering before any rule runs, so these tiers
      // were configured.
      if (orderingMode !== 'STRICT' || retry.tiers.length === 0) return [];
      const message = `cannot be used with STRICT ordering, because a record in a retry topic is overtaken: ${is('orderingMode', orderingMode)}, ${is('retry.tiers', `a list of ${retry.tiers.length}`)}. Set retry.tiers to [] or orderingMode to 'RELAXED_IN_RETRY'.`;
      return [{ key: 'retry.tiers', value: retry.tiers, message }];
    },
  },
  {
    rule: 'MOST_TIERS',
    reads: ['retry.tiers'],
    check: ({ binding: { retry } }) => {
      const { tiers } = retry;
      if (tiers.length <= MOST_TIERS) return [];
      const message = `must have no more than ${MOST_TIERS} entries: each is a retry topic and adds headers to the record; got ${tiers.length}. Leave tiers out, or give one of them more maxAttempts.`;
      return [{ key: 'retry.tiers', value: tiers, message }];
    },
  },
  {
    rule: 'TIER_DELAYS',
    reads: ['retry.tiers', 'preset'],
    check: ({ binding: { retry }, equalTierDelays }) =>
      retry.tiers.slice(1).flatMap(({ delayMs, number }, index) => {
        const before = retry.tiers[index]?.delayMs ?? 0;
        if (equalTierDelays ? delayMs >= before : delayMs > before) return [];
        const relation = equalTierDelays ? 'at least as long as' : 'longer than';
        const message = `tier ${number} must wait ${relation} tier ${number - 1}: ${delayMs} ms after ${before} ms. Raise it${equalTierDelays ? '' : ", or leave the tier out (equal delays are for preset 'resilient')"}.`;
        return [{ key: `retry.tiers[${number - 1}].delayMs`, value: delayMs, message }];
      }),
  },
  {
    rule: 'EXCEPTION_OVERLAP',
    reads: ['retry.retryableExceptions', 'retry.nonRetryableExceptions', 'retry.skipToTierMapping'],
    check: ({ binding: { retry } }) => {
      const refused = retry.nonRetryableExceptions;
      return [
        ...overlap(refused, retry.retryableExceptions, 'retry.retryableExceptions'),
        ...overlap(
          refused,
          retry.skipToTierMapping.map(({ match }) => match),
          'retry.skipToTierMapping',
        ),
      ];
    },
  },
  {
    rule: 'SKIP_TO_TIER',
    reads: ['retry.tiers', 'retry.skipToTierMapping', 'orderingMode'],
    check: ({ binding: { retry, orderingMode } }) =>
      retry.skipToTierMapping.flatMap(({ tier }, index) => {
        const message = missingTier(tier, { retry, orderingMode });
        if (!message) return [];
        return [{ key: `retry.skipToTierMapping[${index}].tier`, value: tier, message }];
      }),
  },
  {
    rule: 'SKIP_TO_TIER_TWICE',
    reads: ['retry.skipToTierMapping'],
    check: ({ binding: { retry } }) => {
      return retry.skipToTierMapping.flatMap(({ match }, index) => {
        const earlier = retry.skipToTierMapping.slice(0, index);
        const first = earlier.findIndex((skip) => isSameMatcher(skip.match, match));
        if (first === -1) return [];
        const message = `names ${formatMatcher(match)} a second time; entry ${first} has it already. Remove one of them.`;
        return [{ key: `retry.skipToTierMapping[${index}].match`, value: match, message }];
      });
    },
  },
];

/**
 * Finds errors that are in both of two lists with opposite meanings. A class in one list and its
 * subclass in the other do not contradict each other, because the more specific entry decides
 * ("retry nothing but timeouts").
 */
function overlap(
  refused: readonly ErrorMatcher[],
  others: readonly ErrorMatcher[],
  key: string,
): readonly Finding[] {
  return refused
    .filter((matcher) => others.some((other) => isSameMatcher(matcher, other)))
    .map((matcher) => ({
      key: 'retry.nonRetryableExceptions',
      value: matcher,
      message: `${formatMatcher(matcher)} is also in ${key}, which says the opposite. Remove it from one of the two.`,
    }));
}
