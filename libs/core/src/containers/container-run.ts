import { ClosedError, type DriverLogger, errorReasonOf } from '@nest-event-bus/broker';
import { within, type Runtime } from '@nest-event-bus/broker/runtime';
import { asError } from '../errors/as-error.js';
import { ContainerUnresponsiveException } from '../errors/container-errors.js';
import type { DrainReport, ConsumingSession } from '../consuming/session/consuming-session.js';
import type { Decision, DecisionPlace } from '../model/outcomes/decision.js';
import type { LaneView } from '../model/states/lane-view.js';
import type { PauseReason } from '../consuming/pauses/pause-reason.js';
import type { SessionView } from './health/container-status.js';
import { failuresOf, throwIfAny } from './shutdown/collect-failures.js';
import type { JoinSlots } from './lifecycle/join-slots.js';

/**
 * Time limits for a session that does not end an operation by itself in time. The limit of `close`
 * counts from the end of the drain: 5 s for the last commit, 11 s for leaving the group.
 */
const TIMEOUTS_MS = { pause: 15_000, resume: 15_000, close: 16_000 } as const;

/** Report of a drain, with the errors of the sessions. */
export interface ContainerDrain extends DrainReport {
  readonly errors: readonly Error[];
}

export interface ContainerRunOptions {
  readonly containerId: string;
  readonly slots: JoinSlots;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  readonly onStatus: () => void;
}

/** The sessions of a container from one start to the next stop. A run is never started again. */
export class ContainerRun {
  /** Resolves once all sessions have joined. Rejects if the run ends before that. */
  readonly joined: Promise<void>;
  readonly #ending = new AbortController();
  readonly #failures = new Map<ConsumingSession, SessionView['failure']>();
  readonly #subscriptions: readonly (() => void)[];
  #closing: Promise<ContainerDrain> | undefined;

  constructor(
    readonly sessions: readonly ConsumingSession[],
    private readonly options: ContainerRunOptions,
  ) {
    this.#subscriptions = sessions.map((session) => session.onStatusChange(options.onStatus));
    this.joined = Promise.all(sessions.map((session) => this.#join(session))).then(() => undefined);
    this.joined.catch(() => undefined);
  }

  get views(): readonly SessionView[] {
    return this.sessions.map((session) => ({
      status: session.status,
      failure: this.#failures.get(session),
    }));
  }

  get lanes(): readonly LaneView[] {
    return this.sessions.flatMap(({ lanes }) => lanes);
  }

  /**
   * Pauses all sessions. Does nothing while they are closing, because they hand out nothing any
   * more.
   */
  async pause(reason: PauseReason): Promise<void> {
    if (!this.#closing) await this.#onEach('pause', (session) => session.pause(reason));
  }

  async resume(reason: PauseReason): Promise<void> {
    if (!this.#closing) await this.#onEach('resume', async (session) => session.resume(reason));
  }

  /**
   * Passes the decision to the session that owns the partition. Returns false if no record waits
   * for one.
   */
  decide(place: DecisionPlace, decision: Decision): boolean {
    return !this.#closing && this.sessions.some((session) => session.decide(place, decision));
  }

  /**
   * Drains the sessions and leaves the group. The first deadline applies, and every call gets the
   * same report. Never rejects: if a session rejects, the report is incomplete.
   */
  close(drainMs: number): Promise<ContainerDrain> {
    this.#ending.abort();
    this.#closing ??= this.#close(drainMs);
    return this.#closing;
  }

  async #close(drainMs: number): Promise<ContainerDrain> {
    const reports: DrainReport[] = [];
    const errors = await failuresOf(
      this.sessions.map((session) => async () => {
        const closed = session.close({ drainMs });
        reports.push(await this.#withTimeout('close', drainMs + TIMEOUTS_MS.close, closed));
      }),
    );
    for (const unsubscribe of this.#subscriptions) unsubscribe();
    return {
      complete: errors.length === 0 && reports.every(({ complete }) => complete),
      abandoned: reports.flatMap(({ abandoned }) => abandoned),
      errors,
    };
  }

  async #join(session: ConsumingSession): Promise<void> {
    try {
      await this.options.slots.join(session, this.#ending.signal);
    } catch (error) {
      if (!this.#ending.signal.aborted || !(error instanceof ClosedError))
        this.#failed(session, asError(error));
      throw error;
    }
  }

  #failed(session: ConsumingSession, error: Error): void {
    const { runtime, logger, onStatus } = this.options;
    this.#failures.set(session, { error, since: runtime.now() });
    logger.error('A session gave up joining its group', {
      session: session.id,
      error: errorReasonOf(error),
    });
    onStatus();
  }

  async #onEach(
    operation: 'pause' | 'resume',
    act: (session: ConsumingSession) => Promise<unknown>,
  ): Promise<void> {
    const failures = await failuresOf(
      this.sessions.map(
        (session) => () => this.#withTimeout(operation, TIMEOUTS_MS[operation], act(session)),
      ),
    );
    throwIfAny(
      failures,
      `Container '${this.options.containerId}' could not ${operation} as a whole`,
    );
  }

  #withTimeout<T>(operation: string, patienceMs: number, work: Promise<T>): Promise<T> {
    const { runtime, containerId } = this.options;
    return within(
      runtime,
      patienceMs,
      work,
      () => new ContainerUnresponsiveException(containerId, operation, patienceMs),
    );
  }
}
