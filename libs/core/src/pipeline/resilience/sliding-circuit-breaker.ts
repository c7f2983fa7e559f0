import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime, Timer } from '@nest-event-bus/broker/runtime';
import type {
  CircuitBreaker,
  CircuitChangeCause,
  CircuitFigures,
  CircuitState,
  CircuitTransition,
} from '../../model/states/circuit-breaker.js';
import { CallWindow } from './call-window.js';
import type { CircuitBreakerConfig } from './circuit-breaker-config-factory.js';

/** `ignored`: it says nothing about what the handler depends on, e.g. because the message was bad. */
export type CallResult = 'succeeded' | 'failed' | 'ignored';

/** What `admit` gives; a call brings it back with its result. */
export type Permit = number;
export const REFUSED: Permit = -1;

/**
 *             a rate reaches its threshold
 *   CLOSED ─────────────────────────────────► OPEN ◄─┐
 *     ▲                                        │     │ the trial calls reach a threshold
 *     │ the trial calls do not    its own timer│     │
 *     └──────────────────────── HALF_OPEN ◄────┘─────┘
 *
 * cockatiel's breaker leaves OPEN when somebody calls. Nobody calls a binding that is paused, so
 * this one has a timer. The rates, `>=`, and the number of trial calls are those of Resilience4j.
 */
export class SlidingCircuitBreaker implements CircuitBreaker {
  readonly waitDurationInOpenStateMs: number;
  readonly automaticPauseOnOpen: boolean;
  readonly #listeners = new Set<(transition: CircuitTransition) => void>();
  readonly #window: CallWindow;
  readonly #trials: CallWindow;
  #state: CircuitState = 'CLOSED';
  #since: number;
  /** What a call gets now. Grows with each change of state, and whenever more trial calls are granted. */
  #permit: Permit = 0;
  /** The first since the last change of state: what began before that has no say after it. */
  #firstPermit: Permit = 0;
  /** By trial calls that told something, and by those of the last grant that are under way. */
  #trialsTaken = 0;
  /** By the monotonic clock. */
  #grantedAt = 0;
  #timer: Timer | undefined;

  constructor(
    private readonly config: CircuitBreakerConfig,
    private readonly runtime: Runtime,
    private readonly logger: DriverLogger,
  ) {
    this.waitDurationInOpenStateMs = config.waitDurationInOpenStateMs;
    this.automaticPauseOnOpen = config.automaticPauseOnOpen;
    this.#window = new CallWindow(config.slidingWindowSize);
    this.#trials = new CallWindow(config.permittedNumberOfCallsInHalfOpenState);
    this.#since = runtime.now();
  }

  get state(): CircuitState {
    return this.#state;
  }

  get since(): number {
    return this.#since;
  }

  get figures(): CircuitFigures {
    return this.#state === 'HALF_OPEN' ? this.#trials.figures : this.#window.figures;
  }

  onTransition(listener: (transition: CircuitTransition) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** REFUSED, or a permit that must come back with `settle`. */
  admit(): Permit {
    switch (this.#state) {
      case 'CLOSED':
        return this.#permit;
      case 'OPEN':
        return REFUSED;
      case 'HALF_OPEN':
        if (this.#trialsTaken >= this.#trials.size && !this.#grantMoreTrials()) return REFUSED;
        this.#trialsTaken++;
        return this.#permit;
    }
  }

  settle(permit: Permit, result: CallResult, durationMs: number): void {
    if (permit < this.#firstPermit) return;
    const isTrial = this.#state === 'HALF_OPEN';
    if (isTrial) this.#releaseTrial(permit, result);
    if (result === 'ignored') return;
    const window = isTrial ? this.#trials : this.#window;
    // As Resilience4j: a call is slow when it took longer, not when it took as long.
    window.add(result === 'failed', durationMs > this.config.slowCallDurationMs);
    if (isTrial) this.#evaluateTrials();
    else this.#evaluateWindow();
  }

  reset(): void {
    this.#window.clear();
    // Even where it is CLOSED: calls that still run began before.
    this.#firstPermit = ++this.#permit;
    if (this.#state !== 'CLOSED') this.#transitionTo('CLOSED', 'reset', this.figures);
  }

  #evaluateWindow(): void {
    if (this.#window.calls < this.config.minimumNumberOfCalls) return;
    const cause = this.#exceededThreshold(this.#window);
    if (cause) this.#transitionTo('OPEN', cause, this.#window.figures);
  }

  #evaluateTrials(): void {
    if (this.#trials.calls < this.#trials.size) return;
    const { figures } = this.#trials;
    const cause = this.#exceededThreshold(this.#trials);
    if (cause) return this.#transitionTo('OPEN', cause, figures);
    this.#window.clear();
    this.#transitionTo('CLOSED', 'recovered', figures);
  }

  #exceededThreshold(window: CallWindow): CircuitChangeCause | undefined {
    if (window.reachesFailureRate(this.config.failureRateThreshold)) return 'failure-rate';
    if (window.reachesSlowRate(this.config.slowCallRateThreshold)) return 'slow-call-rate';
    return undefined;
  }

  /**
   * A handler that never ends would keep its place, and with it the whole binding. As long as the
   * circuit was open, so long it waits for its trial calls; then others may show how things are.
   */
  #grantMoreTrials(): boolean {
    const now = this.runtime.monotonic();
    if (now - this.#grantedAt < this.waitDurationInOpenStateMs) return false;
    this.#grantedAt = now;
    this.#permit++;
    this.#trialsTaken = this.#trials.calls;
    return true;
  }

  /**
   * A trial that told nothing makes room for another, else the circuit could stay half open for
   * ever. One of an earlier grant has lost its place to others: it has none to give back, and takes
   * one where it still tells something.
   */
  #releaseTrial(permit: Permit, result: CallResult): void {
    const hasPlace = permit === this.#permit;
    if (hasPlace && result === 'ignored') this.#trialsTaken--;
    if (!hasPlace && result !== 'ignored') this.#trialsTaken++;
  }

  #transitionTo(to: CircuitState, cause: CircuitChangeCause, figures: CircuitFigures): void {
    const from = this.#state;
    this.#firstPermit = ++this.#permit;
    this.#state = to;
    this.#since = this.runtime.now();
    this.#trials.clear();
    this.#trialsTaken = 0;
    this.#grantedAt = this.runtime.monotonic();
    this.#timer?.cancel();
    this.#timer = to === 'OPEN' ? this.#scheduleHalfOpen() : undefined;
    this.#notifyListeners({ from, to, cause, figures, at: this.#since });
  }

  #scheduleHalfOpen(): Timer {
    const halfOpen = (): void => this.#transitionTo('HALF_OPEN', 'wait-over', this.#window.figures);
    return this.runtime.setTimer(halfOpen, this.waitDurationInOpenStateMs, { background: true });
  }

  #notifyListeners(transition: CircuitTransition): void {
    for (const listener of this.#listeners) {
      try {
        listener(transition);
      } catch (error) {
        this.logger.error('A listener for the transitions of a circuit threw', {
          binding: this.config.binding,
          error: String(error),
        });
      }
    }
  }
}
