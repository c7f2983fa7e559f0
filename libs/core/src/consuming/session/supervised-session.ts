import {
  AuthenticationError,
  AuthorizationError,
  ClosedError,
  errorReasonOf,
  StaticMemberFencedError,
} from '@nest-event-bus/broker';
import { Backoff, Deferred, sleep } from '@nest-event-bus/broker/runtime';
import { asError } from '../../errors/as-error.js';
import { defectContext } from '../../errors/texts/defect-context.js';
import type { Decision, DecisionPlace } from '../../model/outcomes/decision.js';
import { HandlerOverdueException } from '../../errors/delivery-errors.js';
import { HandlerWatch } from './handler-watch.js';
import type {
  DrainReport,
  RecordCounts,
  ConsumingSessionFactory,
  ConsumingSessionOptions,
  ConsumingSession,
  ConsumingStatus,
  CurrentState,
} from './consuming-session.js';
import { HandlerSlots } from '../lanes/handler-slots.js';
import { type LaneDelivery, placeOf } from '../lanes/lane-delivery.js';
import { Lanes } from '../lanes/lanes.js';
import { LingeringHandlers } from './lingering-handlers.js';
import { MemberSession } from './member-session.js';
import { MetadataBudget } from '../commits/metadata-budget.js';
import { PauseReasonSets } from '../pauses/pause-reason-sets.js';
import type { LaneView } from '../../model/states/lane-view.js';
import type { PauseReason } from '../pauses/pause-reason.js';
import { waitForHandlers } from './lane-drain.js';
import { KnownTopicIds } from './recreated-topics.js';
import { StatusPublisher } from './status-publisher.js';
import { withContext } from './session-logger.js';
import { RecordCounters } from './record-counters.js';

type Phase = 'idle' | 'running' | 'draining' | 'closed';

const REPLACEMENT_BACKOFF = { initialMs: 1_000, maxMs: 30_000 };
/**
 * Duration after which a session counts as stable: its next failure starts with the shortest
 * backoff again.
 */
const STABLE_SESSION_MS = 60_000;
/**
 * Errors that only an operator can repair, by new credentials or permissions. Attempts are rare, so
 * that they do not load the brokers.
 */
const RETRIED_RARELY = [AuthenticationError, AuthorizationError] as const;

/**
 * Keeps one member in the group. A consumer session that fails for good is closed and replaced
 * after a backoff, without a limit. The exception is a session whose static member id another
 * process has taken: a replacement would take the id back, and the two processes would fence each
 * other again and again. State that a new consumer session needs is kept here: pause reasons,
 * counters and running handlers.
 */
export class SupervisedSession implements ConsumingSession {
  readonly id: string;
  readonly #options: ConsumingSessionOptions;
  readonly #pauseReasons = new PauseReasonSets();
  readonly #lanes: Lanes;
  readonly #slots: HandlerSlots;
  readonly #budget = new MetadataBudget();
  readonly #counters = new RecordCounters();
  readonly #watch: HandlerWatch;
  readonly #topicIds = new KnownTopicIds();
  readonly #statusPublisher: StatusPublisher;
  readonly #joined = new Deferred();
  readonly #ending = new AbortController();
  readonly #polling = new AbortController();
  #phase: Phase = 'idle';
  #member: MemberSession | undefined;
  #failure: Error | undefined;
  #hasFailed = false;
  #supervising: Promise<void> | undefined;
  #closing: Promise<DrainReport> | undefined;

  constructor(options: ConsumingSessionOptions) {
    const { runtime, logger, settings } = options;
    this.id = `${options.containerId}-${options.sessionIndex}`;
    this.#options = {
      ...options,
      logger: withContext(logger, {
        container: options.containerId,
        session: options.sessionIndex,
      }),
    };
    this.#lanes = new Lanes(options.lingering ?? new LingeringHandlers(), options.bufferLimit);
    this.#slots = new HandlerSlots(settings.processing.maxConcurrency);
    this.#watch = new HandlerWatch({
      lanes: this.#lanes,
      runtime,
      logger: this.#options.logger,
      stuckHandlerMs: settings.stuckHandlerMs,
      maxPollIntervalMs: settings.maxPollIntervalMs,
      onOverdue: (deliveries) => this.#giveUpMember(deliveries),
    });
    this.#statusPublisher = new StatusPublisher(
      runtime,
      this.#options.logger,
      () => this.#currentState(),
      (standing, since) => this.#statusOf(standing, since),
    );
    const { onState } = options;
    if (onState) this.#statusPublisher.subscribe(() => onState(this.#currentState()));
  }

  get status(): ConsumingStatus {
    return this.#statusPublisher.status;
  }

  get counts(): RecordCounts {
    return this.#counters.counts;
  }

  get lanes(): readonly LaneView[] {
    return [...this.#lanes].map((lane) => lane.view);
  }

  get bufferedBytes(): number {
    return this.#lanes.bufferedBytes;
  }

  onStatusChange(listener: () => void): () => void {
    return this.#statusPublisher.subscribe(listener);
  }

  start(): Promise<void> {
    if (this.#phase === 'idle') {
      this.#phase = 'running';
      this.#options.processor.open?.(this.#options.sessionIndex);
      this.#supervising = this.#supervise();
      this.#statusPublisher.publish();
    }
    return this.#joined.promise;
  }

  async pause(reason: PauseReason): Promise<void> {
    const isNew = this.#pauseReasons.add(reason);
    const paused = this.#member?.pause();
    if (isNew) this.#statusPublisher.publish();
    await paused;
  }

  resume(reason: PauseReason): readonly PauseReason[] {
    const wasThere = this.#pauseReasons.remove(reason);
    const remaining = this.#pauseReasons.reasons();
    if (remaining.length === 0) this.#member?.resume();
    if (wasThere) this.#statusPublisher.publish();
    return remaining;
  }

  decide(place: DecisionPlace, decision: Decision): boolean {
    return this.#member?.decide(place, decision) ?? false;
  }

  close({ drainMs = 0 } = {}): Promise<DrainReport> {
    this.#closing ??= this.#close(drainMs);
    return this.#closing;
  }

  async #close(drainMs: number): Promise<DrainReport> {
    this.#phase = 'draining';
    this.#pauseReasons.add('shutdown');
    this.#polling.abort(closed(this.id));
    this.#joined.reject(closed(this.id));
    this.#statusPublisher.publish();
    const report = await (this.#member?.close(drainMs, 'drained') ??
      this.#waitForLingeringHandlers(drainMs));
    this.#ending.abort(closed(this.id));
    await this.#supervising;
    await this.#options.processor.close?.(this.#options.sessionIndex);
    this.#watch.close();
    this.#lanes.close();
    this.#phase = 'closed';
    this.#statusPublisher.publish();
    return report;
  }

  /**
   * Waits for handlers that run since the last consumer session. Nothing can be committed without a
   * session.
   */
  async #waitForLingeringHandlers(timeoutMs: number): Promise<DrainReport> {
    const { lingering } = this.#lanes;
    const abandoned = lingering.flatMap(({ running }) => running).map(placeOf);
    await waitForHandlers(this.#options.runtime, lingering, timeoutMs);
    return { complete: abandoned.length === 0, abandoned };
  }

  /** Runs one consumer session after another, until this session is closed. */
  async #supervise(): Promise<void> {
    const { runtime } = this.#options;
    const backoff = new Backoff(runtime, REPLACEMENT_BACKOFF);
    while (this.#phase === 'running') {
      const startedAt = runtime.monotonic();
      const error = asError(await this.#runMember());
      if (this.#phase !== 'running') return;
      if (error instanceof StaticMemberFencedError) return this.#failPermanently(error);
      if (runtime.monotonic() - startedAt >= STABLE_SESSION_MS) backoff.reset();
      await this.#waitForReplacement(error, backoff.next());
    }
  }

  /** Returns the error with which the consumer session ended. */
  async #runMember(): Promise<unknown> {
    try {
      this.#member = new MemberSession({
        options: this.#options,
        pauseReasons: this.#pauseReasons,
        lanes: this.#lanes,
        slots: this.#slots,
        budget: this.#budget,
        counters: this.#counters,
        watch: this.#watch,
        topicIds: this.#topicIds,
        onJoined: () => {
          this.#failure = undefined;
          this.#joined.resolve();
          this.#statusPublisher.publish();
        },
        onChange: () => this.#statusPublisher.publish(),
      });
      return await this.#member.run(this.#ending.signal, this.#polling.signal);
    } catch (error) {
      return error;
    }
  }

  /**
   * Leaves the group because of overdue handlers, as a broker would remove a member that no longer
   * polls. Otherwise the partition would be blocked for ever.
   */
  #giveUpMember(overdue: readonly LaneDelivery[]): void {
    if (this.#phase !== 'running' || !this.#member || this.#member.isGivenUp) return;
    this.#counters.membershipGivenUp();
    const { maxPollIntervalMs } = this.#options.settings;
    this.#member.giveUp(overdue, new HandlerOverdueException(maxPollIntervalMs));
  }

  async #waitForReplacement(error: Error, delayMs: number): Promise<void> {
    const { runtime, logger } = this.#options;
    const isHopeless = RETRIED_RARELY.some((kind) => error instanceof kind);
    const pauseMs = isHopeless ? REPLACEMENT_BACKOFF.maxMs : delayMs;
    this.#failure = error;
    logger.error('The consumer session ended and is replaced', {
      ...defectContext(error),
      afterMs: Math.round(pauseMs),
    });
    if (!(await this.#endMember())) return;
    await sleep(runtime, pauseMs, this.#polling.signal).catch(() => undefined);
  }

  async #failPermanently(error: StaticMemberFencedError): Promise<void> {
    this.#failure = error;
    this.#hasFailed = true;
    this.#options.logger.error(
      'Another process has taken the static member id of this session, which stays down: stop and start its binding once each process has an id of its own',
      { groupInstanceId: this.#options.consumer.groupInstanceId, reason: errorReasonOf(error) },
    );
    if (await this.#endMember()) this.#joined.reject(error);
  }

  /**
   * Closes the consumer session that failed. Returns false if this session was closed meanwhile.
   */
  async #endMember(): Promise<boolean> {
    await this.#member?.waitForOtherHandlers(this.#polling.signal);
    // `close` was called, and waits for the handlers itself.
    if (this.#phase !== 'running') return false;
    await this.#member?.close(0, 'session-ended');
    if (this.#phase !== 'running') return false;
    this.#member = undefined;
    this.#statusPublisher.publish();
    return true;
  }

  #currentState(): CurrentState {
    switch (this.#phase) {
      case 'idle':
        return { state: 'idle' };
      case 'draining':
        return { state: 'draining' };
      case 'closed':
        return { state: 'closed' };
      case 'running':
        return this.#stateWhileRunning();
    }
  }

  #stateWhileRunning(): CurrentState {
    if (this.#hasFailed) return { state: 'failed', error: this.#failure };
    const status = this.#member?.session.status;
    if (!status || status.state === 'failed' || status.state === 'closed')
      return this.#failure ? { state: 'retrying', error: this.#failure } : { state: 'joining' };
    if (status.state === 'retrying') return { state: 'retrying', error: status.error };
    const trouble = this.#member?.commitError ?? this.#failure;
    if (trouble) return { state: 'retrying', error: trouble };
    // A cooperative member continues to read its other partitions while some are moved.
    const isReading = status.state === 'stable' || [...this.#lanes].length > 0;
    return { state: isReading ? 'joined' : 'joining' };
  }

  #statusOf({ state, error }: CurrentState, since: number): ConsumingStatus {
    const oldest = this.#watch.oldestSince;
    return {
      state,
      since,
      ...(error && { error }),
      assignment: [...this.#lanes].map(({ topic, partition }) => ({ topic, partition })),
      pauses: this.#pauseReasons.reasons(),
      partitionPauses: this.#member?.partitionPauses() ?? [],
      runningHandlers: this.#lanes.running.length,
      ...(oldest !== undefined && { oldestHandlerSince: oldest }),
      stuckHandlers: this.#watch.stuck,
    };
  }
}

export const createConsumingSession: ConsumingSessionFactory = (options) =>
  new SupervisedSession(options);

function closed(id: string): ClosedError {
  return new ClosedError(`The session "${id}" was closed.`);
}
