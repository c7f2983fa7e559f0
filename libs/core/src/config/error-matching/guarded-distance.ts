import type { DriverLogger } from '@nest-event-bus/broker';
import { textOf } from '../../failures/faults/thrown.js';
import { closestDistance } from './error-distance.js';
import type { ErrorMatcher } from './error-matcher.js';

export type GuardedDistance = (
  matchers: readonly ErrorMatcher[],
  error: Error,
) => number | undefined;

/** Wraps `closestDistance` for matchers that may throw: such a matcher is logged and does not match. */
export function guardedDistance(binding: string, logger: DriverLogger): GuardedDistance {
  const distanceOf = (matcher: ErrorMatcher, error: Error): number | undefined => {
    try {
      return closestDistance([matcher], error);
    } catch (failure) {
      logger.error('An error matcher threw an error and is ignored', {
        binding,
        error: textOf(failure),
      });
      return undefined;
    }
  };
  return (matchers, error) => {
    const distances = matchers.flatMap((matcher) => distanceOf(matcher, error) ?? []);
    return distances.length === 0 ? undefined : Math.min(...distances);
  };
}
