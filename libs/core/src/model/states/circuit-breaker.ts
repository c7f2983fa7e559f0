/** CLOSED lets every call pass, OPEN none, HALF_OPEN a few by which it is decided. */
export type CircuitState = 'CLOSED' | 'OPEN' | 'HALF_OPEN';

/** What the gauge shows. The numbers never change. */
export const CIRCUIT_STATE_CODES: Readonly<Record<CircuitState, number>> = Object.freeze({
  CLOSED: 0,
  OPEN: 1,
  HALF_OPEN: 2,
});

/** What the calls of a window came to. Calls of bad messages are not in it. */
export interface CircuitFigures {
  readonly calls: number;
  readonly failures: number;
  /** Slow ones, failed or not. */
  readonly slow: number;
}

export type CircuitChangeCause =
  | 'failure-rate'
  | 'slow-call-rate'
  /** The time to stay open is over. */
  | 'wait-over'
  | 'recovered'
  /** The binding was stopped. */
  | 'reset';

export interface CircuitTransition {
  readonly from: CircuitState;
  readonly to: CircuitState;
  readonly cause: CircuitChangeCause;
  /** Of the window by which it was decided. */
  readonly figures: CircuitFigures;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** The circuit breaker of a binding, as the rest of the bus sees it: one for all its sessions and tiers. */
export interface CircuitBreaker {
  readonly state: CircuitState;
  /** When it came into this state: milliseconds since 1970. */
  readonly since: number;
  readonly figures: CircuitFigures;
  readonly waitDurationInOpenStateMs: number;
  readonly automaticPauseOnOpen: boolean;
  /** Returns the function that ends the subscription. */
  onTransition(listener: (transition: CircuitTransition) => void): () => void;
  /** CLOSED with an empty window and without a timer, whatever it was; calls that still run do not count any more. */
  reset(): void;
}
