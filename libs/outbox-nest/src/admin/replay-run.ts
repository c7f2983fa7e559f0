import {
  type ConnectionProvider,
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
/** After a stall, the events of so much time are replayed at once. The rest of the stall is lost. */
const MAX_CREDIT_MS = 500;

/** Makes DEAD events NEW again, in the order of the table, at most so many per second. */
export class ReplayRun {
  readonly ended: Promise<void>;
  readonly #startedAt: number;
  readonly #total: number;
  #state: OutboxOperationState = 'running';
  #replayed = 0;
  #skipped = 0;
  #endedAt: number | null = null;
  #failure: { readonly error: unknown } | undefined;
  #timer: Timer | undefined;
  #stopWaiting: () => void = () => undefined;

  constructor(
    private readonly parts: ReplayRunParts,
    private eventIds: readonly string[],
    readonly planId: string,
    readonly id: string,
    private readonly rate: number,
  ) {
    this.#startedAt = parts.runtime.now();
    this.#total = eventIds.length;
    this.ended = this.#run();
  }

  get view(): OutboxOperation {
    return {
      ...{ id: this.id, planId: this.planId, state: this.#state, total: this.#total },
      ...{ replayed: this.#replayed, skipped: this.#skipped, rate: this.rate },
      ...{ startedAt: this.#startedAt, endedAt: this.#endedAt, error: this.#errorName },
    };
  }

  /** The error of a run that has failed. */
  get failure(): unknown {
    return this.#failure?.error;
  }

  /** Replays no more events. Those that were replayed stay NEW. */
  cancel(): void {
    if (this.#state === 'running') this.#state = 'cancelled';
    this.#timer?.cancel();
    this.#stopWaiting();
  }

  get #errorName(): string | null {
    if (!this.#failure) return null;
    const { error } = this.#failure;
    return error instanceof Error ? error.name : typeof error;
  }

  async #run(): Promise<void> {
    const { runtime, wake } = this.parts;
    let paidAt = runtime.monotonic();
    let credit = 1;
    const maxCredit = Math.max(1, (MAX_CREDIT_MS * this.rate) / 1000);
    try {
      for (let next = 0; next < this.#total && this.#state === 'running';) {
        const now = runtime.monotonic();
        credit = Math.min(maxCredit, credit + ((now - paidAt) * this.rate) / 1000);
        paidAt = now;
        const batch = this.eventIds.slice(next, next + Math.floor(credit));
        if (batch.length > 0) {
          await this.#replay(batch);
          wake();
          next += batch.length;
          credit -= batch.length;
        } else await this.#wait(STEP_MS);
      }
      if (this.#state === 'running') this.#state = 'completed';
    } catch (error) {
      this.#state = 'failed';
      this.#failure = { error };
    }
    // The run is remembered for a while, and its events are not.
    this.eventIds = [];
    this.#endedAt = runtime.now();
  }

  async #replay(batch: readonly string[]): Promise<void> {
    const { connectionProvider, store, runtime } = this.parts;
    await withConnection(connectionProvider, async (connection) => {
      for (const eventId of batch) {
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
