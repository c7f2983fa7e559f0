import type { DriverLogger } from '@nest-event-bus/broker';
import { textOf } from '../../failures/faults/thrown.js';
import { closestDistance } from './error-distance.js';
import type { ErrorMatcher } from './error-matcher.js';

export type GuardedDistance = (
  matchers: readonly ErrorMatcher[],
  error: Error,
) => number | undefined;

/** `closestDistance`, for matchers that may throw: such a one then names nothing, and that is said. */
export function guardedDistance(binding: string, logger: DriverLogger): GuardedDistance {
  const distanceOf = (matcher: ErrorMatcher, error: Error): number | undefined => {
    try {
      return closestDistance([matcher], error);
    } catch (failure) {
      logger.error('A function that recognises errors threw: it is passed over', {
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
