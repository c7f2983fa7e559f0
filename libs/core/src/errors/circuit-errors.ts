import { EventBusException } from './event-bus-exception.js';

/** The record was not handed to its handler, because the handler's recent calls have failed. */
export class CircuitBreakerOpenException extends EventBusException {
  readonly code = 'CIRCUIT_BREAKER_OPEN';
  readonly retriable = true;

  constructor(readonly binding: string) {
    super(
      `The circuit of binding '${binding}' is open: its handler was not called. The circuit closes by itself once a few calls succeed again; until then look at what the handler depends on. With circuitBreaker.automaticPauseOnOpen the binding would be paused instead.`,
    );
  }
}
