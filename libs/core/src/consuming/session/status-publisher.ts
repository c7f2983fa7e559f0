import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { defectContext } from '../../errors/texts/defect-context.js';
import type { ConsumingState, ConsumingStatus, CurrentState } from './consuming-session.js';

/** Remembers since when the state holds, and notifies listeners of every change. */
export class StatusPublisher {
  readonly #listeners = new Set<() => void>();
  #state: ConsumingState = 'idle';
  #since: number;

  constructor(
    private readonly runtime: Runtime,
    private readonly logger: DriverLogger,
    private readonly currentState: () => CurrentState,
    private readonly describe: (current: CurrentState, since: number) => ConsumingStatus,
  ) {
    this.#since = runtime.now();
  }

  get status(): ConsumingStatus {
    const current = this.currentState();
    this.#noteState(current.state);
    return this.describe(current, this.#since);
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Notifies the listeners of a change. They read the status only if they need it. */
  publish(): void {
    this.#noteState(this.currentState().state);
    for (const listener of [...this.#listeners]) {
      try {
        listener();
      } catch (error) {
        this.logger.error('A status listener threw', defectContext(error));
      }
    }
  }

  #noteState(state: ConsumingState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#since = this.runtime.now();
  }
}
