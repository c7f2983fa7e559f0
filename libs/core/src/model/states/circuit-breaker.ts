/** CLOSED lets every call pass, OPEN none, HALF_OPEN a few that decide about the next state. */
export type CircuitState = 'CLOSED' | 'OPEN' | 'HALF_OPEN';

/** Values of the gauge. The numbers never change. */
export const CIRCUIT_STATE_CODES: Readonly<Record<CircuitState, number>> = Object.freeze({
  CLOSED: 0,
  OPEN: 1,
  HALF_OPEN: 2,
});

/** Results of the calls in a window. Calls with bad messages are not counted. */
export interface CircuitFigures {
  readonly calls: number;
  readonly failures: number;
  /** Slow calls, failed or not. */
  readonly slow: number;
}

export type CircuitChangeCause =
  | 'failure-rate'
  | 'slow-call-rate'
  /** The circuit was open for the configured time. */
  | 'wait-over'
  | 'recovered'
  /** The binding was stopped. */
  | 'reset';

export interface CircuitTransition {
  readonly from: CircuitState;
  readonly to: CircuitState;
  readonly cause: CircuitChangeCause;
  /** Results of the window that decided about the transition. */
  readonly figures: CircuitFigures;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** The circuit breaker of a binding, shared by all its sessions and tiers. */
export interface CircuitBreaker {
  readonly state: CircuitState;
  /** The time of the latest transition: milliseconds since 1970. */
  readonly since: number;
  readonly figures: CircuitFigures;
  readonly waitDurationInOpenStateMs: number;
  readonly automaticPauseOnOpen: boolean;
  /** Returns the function that ends the subscription. */
  onTransition(listener: (transition: CircuitTransition) => void): () => void;
  /** Closes the circuit, with an empty window and without a timer. Calls that still run are not counted any more. */
  reset(): void;
}
