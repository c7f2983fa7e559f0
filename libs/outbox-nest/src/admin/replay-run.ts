import {
  type ConnectionProvider,
  type ListedEvent,
  type OutboxStore,
  type Runtime,
  type Timer,
  withConnection,
} from '@nest-event-bus/outbox';

export type OutboxOperationState = 'running' | 'completed' | 'cancelled' | 'failed';

/** A redrive of DEAD events, which runs in the process that has started it. */
export interface OutboxOperation {
  readonly id: string;
  readonly planId: string;
  readonly state: OutboxOperationState;
  readonly total: number;
  readonly replayed: number;
  /** Events that were not DEAD any more. */
  readonly skipped: number;
  /** Events per second. */
  readonly rate: number;
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** The class of the error of an operation that has failed. */
  readonly error: string | null;
}

export interface ReplayRunParts {
  readonly connectionProvider: ConnectionProvider;
  readonly store: OutboxStore;
  readonly runtime: Runtime;
  /** Makes the outbox look for the events that are NEW again. */
  readonly wake: () => void;
}

/** How often the rate is paid out. */
const STEP_MS = 100;

/** Makes DEAD events NEW again, in the order of the table, at most so many per second. */
export class ReplayRun {
  readonly ended: Promise<void>;
  readonly #startedAt: number;
  #state: OutboxOperationState = 'running';
  #replayed = 0;
  #skipped = 0;
  #endedAt: number | null = null;
  #error: string | null = null;
  #timer: Timer | undefined;
  #stopWaiting: () => void = () => undefined;

  constructor(
    private readonly parts: ReplayRunParts,
    private readonly events: readonly ListedEvent[],
    readonly planId: string,
    readonly id: string,
    private readonly rate: number,
  ) {
    this.#startedAt = parts.runtime.now();
    this.ended = this.#run();
  }

  get view(): OutboxOperation {
    return {
      ...{ id: this.id, planId: this.planId, state: this.#state, total: this.events.length },
      ...{ replayed: this.#replayed, skipped: this.#skipped, rate: this.rate },
      ...{ startedAt: this.#startedAt, endedAt: this.#endedAt, error: this.#error },
    };
  }

  /** Replays no more events. Those that were replayed stay NEW. */
  cancel(): void {
    if (this.#state === 'running') this.#state = 'cancelled';
    this.#timer?.cancel();
    this.#stopWaiting();
  }

  async #run(): Promise<void> {
    const { runtime, wake } = this.parts;
    const start = runtime.monotonic();
    try {
      for (let next = 0; next < this.events.length && this.#state === 'running';) {
        const due = Math.floor(((runtime.monotonic() - start) * this.rate) / 1000) + 1;
        const batch = this.events.slice(next, due);
        if (batch.length > 0) {
          await this.#replay(batch);
          wake();
          next += batch.length;
        } else await this.#wait(STEP_MS);
      }
      if (this.#state === 'running') this.#state = 'completed';
    } catch (error) {
      this.#state = 'failed';
      this.#error = error instanceof Error ? error.name : typeof error;
    }
    this.#endedAt = runtime.now();
  }

  async #replay(batch: readonly ListedEvent[]): Promise<void> {
    const { connectionProvider, store, runtime } = this.parts;
    await withConnection(connectionProvider, async (connection) => {
      for (const { eventId } of batch) {
        if (this.#state !== 'running') return;
        const changed = await store.replayDead(connection, eventId, runtime.now());
        if (changed > 0) this.#replayed++;
        else this.#skipped++;
      }
    });
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#stopWaiting = resolve;
      this.#timer = this.parts.runtime.setTimer(resolve, ms, { background: true });
    });
  }
}
