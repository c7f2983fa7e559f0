import type { Duration } from '../reading/duration.js';
import { IsDuration, IsFlag, IsPercentage, IsWholeNumber } from './property-decorators.js';

/**
 * One breaker for all sessions and tiers of a binding. A call is what the retry made of a record.
 * Bad messages are not counted: nothing that could not be decoded or validated, and nothing that
 * `retry.nonRetryableExceptions` names, opens a circuit or keeps it closed.
 */
export class CircuitBreakerProperties {
  @IsFlag()
  enabled?: boolean;

  /** Per cent of the calls in the window; the circuit opens at this rate. */
  @IsPercentage()
  failureRateThreshold?: number;

  @IsPercentage()
  slowCallRateThreshold?: number;

  /** A call that took longer is slow, even when it succeeded. Its retries and their waits count in. */
  @IsDuration({ min: 1 })
  slowCallDurationMs?: Duration;

  @IsDuration({ min: 1 })
  waitDurationInOpenStateMs?: Duration;

  @IsWholeNumber()
  slidingWindowSize?: number;

  /** With fewer calls in the window nothing is decided. */
  @IsWholeNumber()
  minimumNumberOfCalls?: number;

  /** Trial calls while it is half open; by them it is decided. */
  @IsWholeNumber()
  permittedNumberOfCallsInHalfOpenState?: number;

  /** Pause the binding while the circuit is open; otherwise each call fails at once. */
  @IsFlag()
  automaticPauseOnOpen?: boolean;
}
