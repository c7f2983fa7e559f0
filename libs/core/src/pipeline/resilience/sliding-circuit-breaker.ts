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

/**
 * The result of a call. `ignored` says nothing about the dependencies of the handler, for example
 * because the message was bad.
 */
export type CallResult = 'succeeded' | 'failed' | 'ignored';

/** The result of `admit`. A call passes it back with its result. */
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
  /**
   * The permit of the next call. Grows with each change of state, and whenever more trial calls are
   * granted.
   */
  #permit: Permit = 0;
  /**
   * The first permit since the last change of state. Results of calls that began before are
   * ignored.
   */
  #firstPermit: Permit = 0;
  /** The trial calls with a counted result, plus the running ones of the last grant. */
  #trialsTaken = 0;
  /** A time of the monotonic clock. */
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

  /** Returns REFUSED, or a permit that must come back with `settle`. */
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
    // Resilience4j does the same: a call is slow if it took longer than the limit, not if it took
    // exactly as long.
    window.add(result === 'failed', durationMs > this.config.slowCallDurationMs);
    if (isTrial) this.#evaluateTrials();
    else this.#evaluateWindow();
  }

  reset(): void {
    this.#window.clear();
    // Even if the state is CLOSED: the calls that still run began before the reset.
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
   * Grants more trial calls if the running ones take too long. A handler that never ends would
   * otherwise keep its trial call, and block the whole binding. The breaker waits for trial calls
   * as long as it was open before.
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
   * Allows another trial call instead of one with an ignored result. Otherwise the circuit could
   * stay half open for ever. A trial call of an earlier grant was already replaced: if its result
   * is ignored there is nothing to release, and if it counts, it counts in addition.
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
        this.logger.error('A listener of the circuit breaker threw', {
          binding: this.config.binding,
          error: String(error),
        });
      }
    }
  }
}
