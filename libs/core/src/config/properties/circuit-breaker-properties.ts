import type { Duration } from '../reading/duration.js';
import { IsDuration, IsFlag, IsPercentage, IsWholeNumber } from './property-decorators.js';

/**
 * Configures the circuit breaker, which all sessions and tiers of a binding share. One call in its
 * window is one delivery with all its retries in memory. Records that cannot be decoded or
 * validated, and errors in `retry.nonRetryableExceptions`, are not counted.
 */
export class CircuitBreakerProperties {
  /**
   * Switches the circuit breaker on. It is on as soon as the options, a loader, a decorator or
   * `defaults` contain a section `circuitBreaker`. An explicit `false` wins. The values of a preset
   * switch nothing on, unless it sets `enabled`.
   *
   * @defaultValue `false`; `true` with a section `circuitBreaker`
   */
  @IsFlag()
  enabled?: boolean;

  /**
   * Sets the percentage of failed calls in the window at which the circuit opens.
   *
   * @defaultValue `50`
   */
  @IsPercentage()
  failureRateThreshold?: number;

  /**
   * Sets the percentage of slow calls in the window at which the circuit opens.
   *
   * @defaultValue `80`
   */
  @IsPercentage()
  slowCallRateThreshold?: number;

  /**
   * Sets from which duration a call counts as slow, even if it succeeds. The duration includes the
   * retries in memory and their waits.
   *
   * @defaultValue `5000`
   */
  @IsDuration({ min: 1 })
  slowCallDurationMs?: Duration;

  /**
   * Sets how long the circuit stays open before it allows trial calls.
   *
   * @defaultValue `60000`
   */
  @IsDuration({ min: 1 })
  waitDurationInOpenStateMs?: Duration;

  /**
   * Sets how many of the most recent calls the window contains.
   *
   * @defaultValue `100`
   */
  @IsWholeNumber()
  slidingWindowSize?: number;

  /**
   * Sets how many calls the window needs before the circuit can open. It must not exceed the size
   * of the window.
   *
   * @defaultValue `10`
   */
  @IsWholeNumber()
  minimumNumberOfCalls?: number;

  /**
   * Sets how many trial calls decide whether a half-open circuit closes.
   *
   * @defaultValue `5`
   */
  @IsWholeNumber()
  permittedNumberOfCallsInHalfOpenState?: number;

  /**
   * Pauses the binding while the circuit is open. With `false` every delivery fails at once with
   * `CircuitBreakerOpenException`.
   *
   * @defaultValue `true`
   */
  @IsFlag()
  automaticPauseOnOpen?: boolean;
}
