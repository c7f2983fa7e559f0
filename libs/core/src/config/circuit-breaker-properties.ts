import type { Duration } from './duration.js';
import { IsDuration, IsFlag, IsPercentage, IsWholeNumber } from './property-decorators.js';

export class CircuitBreakerProperties {
  @IsFlag()
  enabled?: boolean;

  /** Per cent of the calls in the window; the circuit opens at this rate. */
  @IsPercentage()
  failureRateThreshold?: number;

  @IsPercentage()
  slowCallRateThreshold?: number;

  /** A call that took longer is slow, even when it succeeded. */
  @IsDuration({ min: 1 })
  slowCallDurationMs?: Duration;

  @IsDuration({ min: 1 })
  waitDurationInOpenStateMs?: Duration;

  @IsWholeNumber()
  slidingWindowSize?: number;

  /** With fewer calls in the window nothing is decided. */
  @IsWholeNumber()
  minimumNumberOfCalls?: number;

  @IsWholeNumber()
  permittedNumberOfCallsInHalfOpenState?: number;

  /** Pause the binding while the circuit is open; otherwise each call fails at once. */
  @IsFlag()
  automaticPauseOnOpen?: boolean;
}
