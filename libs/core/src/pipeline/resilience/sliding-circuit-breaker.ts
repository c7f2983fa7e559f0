import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime, Timer } from '@nest-event-bus/broker/runtime';
import { defectContext } from '../../errors/texts/defect-context.js';
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

/** Result of `admit`. The caller passes it to `settle`, together with the result of the call. */
export type Permit = number;
export const REFUSED: Permit = -1;

/**
 *             a rate reaches its threshold
 *   CLOSED ─────────────────────────────────► OPEN ◄─┐
 *     ▲                                        │     │ the trial calls reach a threshold
 *     │ the trial calls do not    its own timer│     │
 *     └──────────────────────── HALF_OPEN ◄────┘─────┘
 *
 * cockatiel's breaker leaves OPEN at the next call. A paused binding makes no call, so this breaker
 * has a timer. The rates, `>=`, and the number of trial calls are those of Resilience4j.
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
  /**
   * The trial calls with a counted result, plus the running ones since trial calls were last
   * granted.
   */
  #trialsTaken = 0;
  /** Time of the last grant, on the monotonic clock. */
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

  /** Admits or refuses a call. Returns REFUSED, or a permit that has to be passed to `settle`. */
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
    // A call is slow if it took longer than the limit, but not if it took exactly as long, as in
    // Resilience4j.
    window.add(result === 'failed', durationMs > this.config.slowCallDurationMs);
    if (isTrial) this.#evaluateTrials();
    else this.#evaluateWindow();
  }

  reset(): void {
    this.#window.clear();
    // The permit changes even if the state is CLOSED already, because calls that still run began
    // before the reset.
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
   * Allows another trial call in place of one whose result is ignored. Otherwise the circuit could
   * stay half open for ever. Trial calls of an earlier grant were already replaced by the later
   * grant, so they are not replaced again. If the result of such a call counts, it counts in
   * addition.
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
          ...defectContext(error),
        });
      }
    }
  }
}
