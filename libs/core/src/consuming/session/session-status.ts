import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { IntakeState, IntakeStatus } from './intake.js';

/** Where an intake stands, and why it does not get on. */
export interface Standing {
  readonly state: IntakeState;
  readonly error?: Error;
}

/** Remembers since when things are as they are, and tells whoever listens of every change. */
export class StatusBoard {
  readonly #listeners = new Set<(status: IntakeStatus) => void>();
  #state: IntakeState = 'idle';
  #since: number;

  constructor(
    private readonly runtime: Runtime,
    private readonly logger: DriverLogger,
    private readonly standing: () => Standing,
    private readonly describe: (standing: Standing, since: number) => IntakeStatus,
  ) {
    this.#since = runtime.now();
  }

  get status(): IntakeStatus {
    const standing = this.standing();
    this.#follow(standing.state);
    return this.describe(standing, this.#since);
  }

  subscribe(listener: (status: IntakeStatus) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Something has changed. */
  tell(): void {
    this.#follow(this.standing().state);
    if (this.#listeners.size === 0) return;
    const { status } = this;
    for (const listener of [...this.#listeners]) {
      try {
        listener(status);
      } catch (error) {
        this.logger.error('A status listener threw', { reason: String(error) });
      }
    }
  }

  #follow(state: IntakeState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#since = this.runtime.now();
  }
}
