import type { Duration } from './duration.js';

export class CircuitBreakerProperties {
  enabled?: boolean;
  /** Per cent of the calls in the window; the circuit opens at this rate. */
  failureRateThreshold?: number;
  slowCallRateThreshold?: number;
  slowCallDurationMs?: Duration;
  waitDurationInOpenStateMs?: Duration;
  slidingWindowSize?: number;
  minimumNumberOfCalls?: number;
  permittedNumberOfCallsInHalfOpenState?: number;
  automaticPauseOnOpen?: boolean;
}
