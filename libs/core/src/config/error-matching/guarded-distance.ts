import type { DriverLogger } from '@nest-event-bus/broker';
import { errorContext } from '../../errors/texts/error-context.js';
import type { ResolvedBinding } from '../resolving/resolved-binding.js';
import { closestDistance } from './error-distance.js';
import type { ErrorMatcher } from './error-matcher.js';

export type GuardedDistance = (
  matchers: readonly ErrorMatcher[],
  error: Error,
) => number | undefined;

/** The binding whose matchers are called. `dlt` limits what is logged of the error of a matcher. */
export type MatchingBinding = Pick<ResolvedBinding, 'name' | 'dlt'>;

/**
 * Wraps `closestDistance` for matchers that may throw. An error of a matcher is logged, and the
 * matcher counts as not matching.
 */
export function guardedDistance(
  { name: binding, dlt }: MatchingBinding,
  logger: DriverLogger,
): GuardedDistance {
  const distanceOf = (matcher: ErrorMatcher, error: Error): number | undefined => {
    try {
      return closestDistance([matcher], error);
    } catch (failure) {
      logger.error('An error matcher threw an error and is ignored', {
        binding,
        ...errorContext(failure, dlt),
      });
      return undefined;
    }
  };
  return (matchers, error) => {
    const distances = matchers.flatMap((matcher) => distanceOf(matcher, error) ?? []);
    return distances.length === 0 ? undefined : Math.min(...distances);
  };
}
