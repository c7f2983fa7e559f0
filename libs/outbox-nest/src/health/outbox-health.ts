import {
  type ConnectionProvider,
  IllegalArgumentError,
  type OutboxFigures,
  type OutboxStore,
  realRuntime,
  type Runtime,
  withConnection,
} from '@nest-event-bus/outbox';

export type OutboxStatus = 'UP' | 'DEGRADED' | 'DOWN';

/** `starting`: the application has not started yet. */
export type OutboxState = 'starting' | 'running' | 'stopped';

export interface OutboxHealthOptions {
  /** With more events that wait, the outbox is degraded. Default 100,000. */
  readonly maxPending?: number;
  /** If an event has been due for longer, the outbox is degraded. Default one minute. */
  readonly maxDueMs?: number;
  /** With more DEAD events, the outbox is degraded. Default 0. */
  readonly maxDead?: number;
  /** If the database has not answered after this time, the outbox is down. Default 5 seconds. */
  readonly timeoutMs?: number;
}

export interface OutboxHealthReport {
  readonly status: OutboxStatus;
  readonly state: OutboxState;
  /** What is wrong, and what to do. Empty if the status is UP. */
  readonly reasons: readonly string[];
  /** Null if the database did not answer, or if the store has no inspection. */
  readonly figures: OutboxFigures | null;
}

export interface OutboxHealthParts {
  readonly state: () => OutboxState;
  readonly connectionProvider: ConnectionProvider;
  readonly store: OutboxStore;
  /** False with `writerOnly`: another program reads the table, and nothing in it becomes DONE. */
  readonly dispatches: boolean;
  readonly runtime?: Runtime;
}

type Finding = readonly [OutboxStatus, reason: string];

const DEFAULTS: Required<OutboxHealthOptions> = {
  maxPending: 100_000,
  maxDueMs: 60_000,
  maxDead: 0,
  timeoutMs: 5_000,
};

/** Tells whether events are dispatched. It reads the table with every call and remembers nothing. */
export class OutboxHealth {
  readonly #options: Required<OutboxHealthOptions>;
  readonly #runtime: Runtime;
  #reading: Promise<OutboxFigures | null> | undefined;

  constructor(
    private readonly parts: OutboxHealthParts,
    options: OutboxHealthOptions = {},
  ) {
    this.#options = { ...DEFAULTS, ...withoutUndefined(options) };
    for (const [name, value] of Object.entries(this.#options))
      if (!(value >= 0 && Number.isFinite(value)))
        throw new IllegalArgumentError(`health.${name} must be a number that is not negative.`);
    this.#runtime = parts.runtime ?? realRuntime;
  }

  /** Never rejects, and answers within `timeoutMs`. */
  async check(): Promise<OutboxHealthReport> {
    const state = this.parts.state();
    if (state !== 'running') return this.#report([['DOWN', NOT_RUNNING[state]]], null);
    try {
      const figures = await this.#figures();
      return this.#report(figures ? this.#findings(figures) : [], figures);
    } catch (error) {
      return this.#report([['DOWN', unreachable(error)]], null);
    }
  }

  #report(findings: readonly Finding[], figures: OutboxFigures | null): OutboxHealthReport {
    const statuses = findings.map(([status]) => status);
    return {
      status: statuses.includes('DOWN') ? 'DOWN' : (statuses[0] ?? 'UP'),
      state: this.parts.state(),
      reasons: findings.map(([, reason]) => reason),
      figures,
    };
  }

  #findings({ pending, dead, blockedKeys, longestDueMs }: OutboxFigures): readonly Finding[] {
    if (!this.parts.dispatches) return [];
    const { maxPending, maxDueMs, maxDead } = this.#options;
    const all: readonly (Finding | false)[] = [
      dead > maxDead && [
        'DEGRADED',
        `${countOf(dead, this.#limit)} events are DEAD. Remove the cause of their errors, then replay or purge them.`,
      ],
      blockedKeys > 0 && [
        'DEGRADED',
        `${blockedKeys} keys are blocked by a DEAD event. Unblock or skip them.`,
      ],
      longestDueMs > maxDueMs && [
        'DEGRADED',
        `an event has been due for ${Math.round(longestDueMs / 1000)} seconds. Look at the log for outages, and at the duration of the listeners.`,
      ],
      pending > maxPending && [
        'DEGRADED',
        `more than ${maxPending} events wait. Dispatch is slower than what is written.`,
      ],
    ];
    return all.filter((finding) => finding !== false);
  }

  /** Counts one more than the limits need. */
  get #limit(): number {
    return Math.max(this.#options.maxPending, this.#options.maxDead) + 1;
  }

  /** Calls during a read that hangs wait for that one, so that they take no more connections. */
  async #figures(): Promise<OutboxFigures | null> {
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    const reading = this.#reading;
    return new Promise((resolve, reject) => {
      const timer = this.#runtime.setTimer(
        () => reject(new NoAnswer(this.#options.timeoutMs)),
        this.#options.timeoutMs,
        { background: true },
      );
      reading.then(resolve, reject).finally(() => timer.cancel());
    });
  }

  async #read(): Promise<OutboxFigures | null> {
    const { connectionProvider, store } = this.parts;
    return withConnection(connectionProvider, async (connection) => {
      if (store.inspection) return store.inspection.figures(connection, this.#limit);
      await store.pollPending(connection, 0, 0, 1);
      return null;
    });
  }
}

class NoAnswer extends Error {
  override readonly name = 'NoAnswer';

  constructor(readonly timeoutMs: number) {
    super();
  }
}

const NOT_RUNNING = {
  starting: 'the outbox has not started. Events are written and not yet dispatched.',
  stopped: 'the outbox has stopped, because the application shuts down.',
} as const;

/** Never shows the message of a driver, which may name hosts and users. */
function unreachable(error: unknown): string {
  if (error instanceof NoAnswer)
    return `the database has not answered within ${error.timeoutMs} ms. Look at it and at the size of its pool.`;
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
  const what = typeof code === 'string' ? code : String(name);
  return `the outbox table cannot be read (${what}). Look at the database and its schema.`;
}

const countOf = (count: number, limit: number): string =>
  count >= limit ? `at least ${count}` : String(count);

function withoutUndefined<T extends object>(options: T): T {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as T;
}
