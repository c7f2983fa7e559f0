import {
  AuthenticationError,
  AuthorizationError,
  ClosedError,
  StaticMemberFencedError,
} from '@nest-event-bus/broker';
import { Backoff, Deferred, sleep } from '@nest-event-bus/broker/runtime';
import { asError } from '../../errors/as-error.js';
import type { Decision, DecisionPlace } from '../../model/outcomes/delivery.js';
import { HandlerOverdueException } from '../../errors/delivery-errors.js';
import { HandlerWatch } from './handler-watch.js';
import type {
  DrainReport,
  IntakeCounts,
  IntakeFactory,
  IntakeOptions,
  IntakeSession,
  IntakeStatus,
} from './intake.js';
import { HandlerSlots } from '../lanes/handler-slots.js';
import { type LaneDelivery, placeOf } from '../lanes/lane-delivery.js';
import { Lanes } from '../lanes/lanes.js';
import { LingeringHandlers } from './lingering-handlers.js';
import { MemberTerm } from './member-session.js';
import { MetadataBudget } from '../commits/metadata-budget.js';
import { PauseLedger } from '../pauses/pause-ledger.js';
import type { PauseReason } from '../pauses/pause-reason.js';
import { whenAllQuiet } from './rebalance-listener.js';
import { type Standing, StatusBoard } from './session-status.js';
import { withContext } from './session-logger.js';
import { Tally } from './record-counters.js';

type Phase = 'idle' | 'running' | 'draining' | 'closed';

const REPLACE = { initialMs: 1_000, maxMs: 30_000 };
/** A session that lasted so long was a good one: the next failure is a first one again. */
const LASTING_MS = 60_000;
/** What only an operator can mend, by new credentials or rights: asked again now and then, which disturbs nobody. */
const HOPELESS = [AuthenticationError, AuthorizationError] as const;

/**
 * Keeps one member of the group at work: a consumer session that fails for good is closed and
 * replaced after a backoff, for ever. Only one whose static id another process has taken is not:
 * it would take the id back, and the two would fence each other by turns. What must outlive a
 * session is here: pause reasons, counts, and the handlers that still run.
 */
export class DefaultIntakeSession implements IntakeSession {
  readonly id: string;
  readonly #options: IntakeOptions;
  readonly #ledger = new PauseLedger();
  readonly #lanes: Lanes;
  readonly #slots: HandlerSlots;
  readonly #budget = new MetadataBudget();
  readonly #tally = new Tally();
  readonly #watch: HandlerWatch;
  readonly #board: StatusBoard;
  readonly #joined = new Deferred();
  readonly #ending = new AbortController();
  readonly #polling = new AbortController();
  #phase: Phase = 'idle';
  #term: MemberTerm | undefined;
  #failure: Error | undefined;
  #hasFailed = false;
  #life: Promise<void> | undefined;
  #draining: Promise<DrainReport> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: IntakeOptions) {
    const { runtime, logger, settings } = options;
    this.id = `${options.containerId}-${options.sessionIndex}`;
    this.#options = {
      ...options,
      logger: withContext(logger, {
        container: options.containerId,
        session: options.sessionIndex,
      }),
    };
    this.#lanes = new Lanes(options.lingering ?? new LingeringHandlers(), options.memory);
    this.#slots = new HandlerSlots(settings.processing.maxConcurrency);
    this.#watch = new HandlerWatch({
      lanes: this.#lanes,
      runtime,
      logger: this.#options.logger,
      stuckHandlerMs: settings.stuckHandlerMs,
      maxPollIntervalMs: settings.maxPollIntervalMs,
      onOverdue: (deliveries) => this.#giveUpTerm(deliveries),
    });
    this.#board = new StatusBoard(
      runtime,
      this.#options.logger,
      () => this.#standing(),
      (standing, since) => this.#describe(standing, since),
    );
  }

  get status(): IntakeStatus {
    return this.#board.status;
  }

  get counts(): IntakeCounts {
    return this.#tally.counts;
  }

  onStatus(listener: (status: IntakeStatus) => void): () => void {
    return this.#board.subscribe(listener);
  }

  start(): Promise<void> {
    if (this.#phase === 'idle') {
      this.#phase = 'running';
      this.#options.processor.open?.(this.#options.sessionIndex);
      this.#life = this.#live();
      this.#board.tell();
    }
    return this.#joined.promise;
  }

  async pause(reason: PauseReason): Promise<void> {
    const isNew = this.#ledger.add(reason);
    const paused = this.#term?.pause();
    if (isNew) this.#board.tell();
    await paused;
  }

  resume(reason: PauseReason): readonly PauseReason[] {
    const wasThere = this.#ledger.remove(reason);
    const remaining = this.#ledger.reasons();
    if (remaining.length === 0) this.#term?.resume();
    if (wasThere) this.#board.tell();
    return remaining;
  }

  decide(place: DecisionPlace, decision: Decision): boolean {
    return this.#term?.decide(place, decision) ?? false;
  }

  drain(timeoutMs: number): Promise<DrainReport> {
    this.#draining ??= this.#drain(timeoutMs);
    return this.#draining;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #drain(timeoutMs: number): Promise<DrainReport> {
    if (this.#phase !== 'closed') this.#phase = 'draining';
    this.#stopHandingOut();
    this.#board.tell();
    return this.#term?.settle(timeoutMs, 'drained') ?? this.#outlast(timeoutMs);
  }

  /** Between two consumer sessions nothing can be committed, but handlers of the last one may run. */
  async #outlast(timeoutMs: number): Promise<DrainReport> {
    const { lingering } = this.#lanes;
    const abandoned = lingering.flatMap(({ running }) => running).map(placeOf);
    await whenAllQuiet(this.#options.runtime, lingering, timeoutMs);
    return { complete: abandoned.length === 0, abandoned };
  }

  async #close(): Promise<void> {
    this.#phase = 'closed';
    this.#stopHandingOut();
    this.#joined.reject(closed(this.id));
    await this.#term?.close('drained').catch((error: unknown) => this.#tellFailedClose(error));
    this.#ending.abort(closed(this.id));
    await this.#life;
    await this.#options.processor.close?.(this.#options.sessionIndex);
    this.#watch.close();
    this.#lanes.close();
    this.#board.tell();
  }

  #stopHandingOut(): void {
    this.#ledger.add('shutdown');
    this.#polling.abort(closed(this.id));
  }

  /** One term after the other, until it is closed. */
  async #live(): Promise<void> {
    const { runtime } = this.#options;
    const backoff = new Backoff(runtime, REPLACE);
    while (this.#phase === 'running') {
      const startedAt = runtime.monotonic();
      const error = asError(await this.#serve());
      if (this.#phase !== 'running') return;
      if (error instanceof StaticMemberFencedError) return this.#stayDown(error);
      if (runtime.monotonic() - startedAt >= LASTING_MS) backoff.reset();
      await this.#waitForReplacement(error, backoff.next());
    }
  }

  /** Gives the error by which the term ended. */
  async #serve(): Promise<unknown> {
    try {
      this.#term = new MemberTerm({
        options: this.#options,
        ledger: this.#ledger,
        lanes: this.#lanes,
        slots: this.#slots,
        budget: this.#budget,
        tally: this.#tally,
        watch: this.#watch,
        onJoined: () => {
          this.#failure = undefined;
          this.#joined.resolve();
          this.#board.tell();
        },
        onChange: () => this.#board.tell(),
      });
      return await this.#term.live(this.#ending.signal, this.#polling.signal);
    } catch (error) {
      return error;
    }
  }

  /** As the group would do to a member that does not poll any more: the partition is not held up for ever. */
  #giveUpTerm(overdue: readonly LaneDelivery[]): void {
    if (this.#phase !== 'running' || !this.#term || this.#term.isGivenUp) return;
    this.#tally.membershipGivenUp();
    const { maxPollIntervalMs } = this.#options.settings;
    this.#term.giveUp(overdue, new HandlerOverdueException(maxPollIntervalMs));
  }

  async #waitForReplacement(error: Error, delayMs: number): Promise<void> {
    const { runtime, logger } = this.#options;
    const isHopeless = HOPELESS.some((kind) => error instanceof kind);
    const pauseMs = isHopeless ? REPLACE.maxMs : delayMs;
    this.#failure = error;
    logger.error('The consumer session ended and is replaced', {
      reason: error.message,
      afterMs: Math.round(pauseMs),
    });
    if (!(await this.#endTerm())) return;
    await sleep(runtime, pauseMs, this.#polling.signal).catch(() => undefined);
  }

  async #stayDown(error: StaticMemberFencedError): Promise<void> {
    this.#failure = error;
    this.#hasFailed = true;
    this.#options.logger.error(
      'Another process has taken the static member id of this session, which stays down: stop and start its binding once each process has an id of its own',
      { groupInstanceId: this.#options.consumer.groupInstanceId, reason: error.message },
    );
    if (await this.#endTerm()) this.#joined.reject(error);
  }

  /** False where the session was closed meanwhile. */
  async #endTerm(): Promise<boolean> {
    await this.#term?.letFinish(this.#polling.signal);
    // Whoever drains waits for its handlers, too.
    if (this.#phase !== 'running') return false;
    await this.#term
      ?.close('session-ended')
      .catch((failed: unknown) => this.#tellFailedClose(failed));
    if (this.#phase !== 'running') return false;
    this.#term = undefined;
    this.#board.tell();
    return true;
  }

  #standing(): Standing {
    switch (this.#phase) {
      case 'idle':
        return { state: 'idle' };
      case 'draining':
        return { state: 'draining' };
      case 'closed':
        return { state: 'closed' };
      case 'running':
        return this.#runningStanding();
    }
  }

  #runningStanding(): Standing {
    if (this.#hasFailed) return { state: 'failed', error: this.#failure };
    const status = this.#term?.session.status;
    if (!status || status.state === 'failed' || status.state === 'closed')
      return this.#failure ? { state: 'retrying', error: this.#failure } : { state: 'joining' };
    if (status.state === 'retrying') return { state: 'retrying', error: status.error };
    const trouble = this.#term?.commitTrouble ?? this.#failure;
    if (trouble) return { state: 'retrying', error: trouble };
    // In a cooperative group what stays is read while the rest moves.
    const isReading = status.state === 'stable' || [...this.#lanes].length > 0;
    return { state: isReading ? 'joined' : 'joining' };
  }

  #describe({ state, error }: Standing, since: number): IntakeStatus {
    const oldest = this.#watch.oldestSince;
    return {
      state,
      since,
      ...(error && { error }),
      assignment: [...this.#lanes].map(({ topic, partition }) => ({ topic, partition })),
      pauses: this.#ledger.reasons(),
      partitionPauses: this.#term?.partitionPauses() ?? [],
      runningHandlers: this.#lanes.running.length,
      ...(oldest !== undefined && { oldestHandlerSince: oldest }),
      stuckHandlers: this.#watch.stuck,
    };
  }

  #tellFailedClose(error: unknown): void {
    this.#options.logger.error('The consumer session did not close in order', {
      reason: asError(error).message,
    });
  }
}

export const createIntakeSession: IntakeFactory = (options) => new DefaultIntakeSession(options);

function closed(id: string): ClosedError {
  return new ClosedError(`The intake session "${id}" was closed.`);
}
