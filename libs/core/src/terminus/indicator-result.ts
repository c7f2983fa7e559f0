import type { HealthIndicatorResult } from '@nestjs/terminus';

type Details = Record<string, unknown>;

/**
 * The session of an indicator, in words of its own: the types of Terminus 11 have no `degraded`, so
 * that the declarations of this file would not compile there.
 */
interface Indicator<Key extends string> {
  up(data: Details): HealthIndicatorResult<Key>;
  down(data: Details): HealthIndicatorResult<Key>;
  degraded?(data: Details): HealthIndicatorResult<Key>;
}

/** Says as what a status DEGRADED is reported: Kubernetes knows only up and down. */
export interface DegradedOptions {
  /**
   * With `'down'` a degraded bus answers 503. Default `'degraded'`: it answers 200.
   */
  readonly degradedAs?: 'degraded' | 'down';
}

/**
 * Returns `degraded`, or `up` with Terminus 11, which knows only up and down and would drop
 * anything else from the response. `state` is in the details in any case.
 */
export function degradedResult<Key extends string>(
  indicator: Indicator<Key>,
  data: Details,
  { degradedAs = 'degraded' }: DegradedOptions,
): HealthIndicatorResult<Key> {
  if (degradedAs === 'down') return indicator.down(data);
  return indicator.degraded ? indicator.degraded(data) : indicator.up(data);
}
