import { ClosedError, type DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { asError } from '../errors/as-error.js';
import type { RecordCounts, ConsumingSession } from '../consuming/session/consuming-session.js';
import type { Decision, DecisionPlace } from '../model/outcomes/decision.js';
import type { PauseReason } from '../consuming/pauses/pause-reason.js';
import type { CircuitBreakerSlot } from './container-registration.js';
import { AccumulatedCounts } from './health/container-counts.js';
import { ContainerRun, type ContainerDrain } from './container-run.js';
import { aggregate, type ContainerStatus } from './health/container-status.js';
import { failuresOf, throwIfAny } from './shutdown/collect-failures.js';
import type { JoinSlots } from './lifecycle/join-slots.js';

export interface MessageContainerOptions {
  readonly binding: string;
  /** `eventbus-orders`, `eventbus-orders-retry-1`. */
  readonly id: string;
  readonly topic: string;
  readonly groupId: string;
  /** 0 is the main container. */
  readonly tier: number;
  /** Number of sessions. Each is a member of the group with partitions of its own. */
  readonly concurrency: number;
  readonly circuitBreaker: CircuitBreakerSlot;
  readonly openSession: (index: number) => ConsumingSession;
  readonly slots: JoinSlots;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

const NOTHING_TO_CLOSE: ContainerDrain = Object.freeze({
  complete: true,
  abandoned: [],
  errors: [],
});

/** Reads one topic for one binding. LifecycleManager knows the state, the container does not. */
export class MessageContainer {
  readonly id: string;
  readonly topic: string;
  readonly groupId: string;
  readonly tier: number;
  readonly concurrency: number;
  readonly circuitBreaker: CircuitBreakerSlot;
  readonly #ledger = new AccumulatedCounts();
  readonly #listeners = new Set<(status: ContainerStatus) => void>();
  #run: ContainerRun | undefined;
  #stoppedSince: number;

  constructor(private readonly options: MessageContainerOptions) {
    this.id = options.id;
    this.topic = options.topic;
    this.groupId = options.groupId;
    this.tier = options.tier;
    this.concurrency = options.concurrency;
    this.circuitBreaker = options.circuitBreaker;
    this.#stoppedSince = options.runtime.now();
  }

  /**
   * Opens sessions, which begin to join, and returns; `status` shows their progress. Rejects if the
   * driver refuses an option, but not if a broker is unreachable.
   */
  async start(): Promise<void> {
    if (this.#run) throw new Error(`Container '${this.id}' was started already. Close it first.`);
    const { opened, refusal } = this.#openSessions();
    if (refusal) {
      const failures = await failuresOf(opened.map((session) => () => session.close()));
      throwIfAny([refusal, ...failures], `Container '${this.id}' could not start`);
    }
    this.#ledger.addSessions(opened);
    this.#run = new ContainerRun(opened, {
      ...this.options,
      containerId: this.id,
      onStatus: () => this.#publishStatus(),
    });
  }

  /** False before a start and after a close. */
  get isStarted(): boolean {
    return this.#run !== undefined;
  }

  /**
   * Resolves once every session has joined; rejects with ClosedError if the container is stopped
   * before.
   */
  async joined(): Promise<void> {
    if (!this.#run) throw new ClosedError(`Container '${this.id}' is not started.`);
    await this.#run.joined;
  }

  /** Pauses all sessions, even if one of them fails to. Afterwards no record reaches a handler. */
  async pause(reason: PauseReason): Promise<void> {
    await this.#run?.pause(reason);
  }

  /** Removes one reason. The others stay. */
  async resume(reason: PauseReason): Promise<void> {
    await this.#run?.resume(reason);
  }

  /**
   * Decides about the record that a partition with the pause reason `strict` waits for. With its
   * offset, it may also be a record that holds its partition for its next attempt. Returns false if
   * this container has no such partition: another process may own it by now.
   */
  decide(place: DecisionPlace, decision: Decision): boolean {
    return this.#run?.decide(place, decision) ?? false;
  }

  /**
   * Hands out nothing more, waits at most `drainMs` for running handlers, commits and leaves the
   * group. Never rejects: what failed is in the report. Afterwards the container can be started again.
   */
  async close(drainMs = 0): Promise<ContainerDrain> {
    const run = this.#run;
    if (!run) return NOTHING_TO_CLOSE;
    const report = await run.close(drainMs);
    if (this.#run === run) this.#onClosed(report);
    return report;
  }

  get status(): ContainerStatus {
    return aggregate(this.#run?.views ?? [], this.#stoppedSince);
  }

  /** Counts over all starts. At any moment, `received` is the sum of all others. */
  get counts(): RecordCounts {
    return this.#ledger.counts;
  }

  /** Returns the function that ends the subscription. */
  onStatus(listener: (status: ContainerStatus) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #onClosed({ complete, abandoned, errors }: ContainerDrain): void {
    const { runtime, logger, binding } = this.options;
    this.#run = undefined;
    this.#stoppedSince = runtime.now();
    this.#publishStatus();
    // The caller reports errors.
    if (complete || (errors.length > 0 && abandoned.length === 0)) return;
    logger.warn('What was not finished and committed in time is delivered again', {
      binding,
      container: this.id,
      redelivered: abandoned.map(
        ({ topic, partition, offset }) => `${topic}-${partition}@${offset}`,
      ),
    });
  }

  /** Opens all sessions in one synchronous step, so that a shutdown sees all of them or none. */
  #openSessions(): { readonly opened: readonly ConsumingSession[]; readonly refusal?: Error } {
    const opened: ConsumingSession[] = [];
    try {
      for (let index = 0; index < this.concurrency; index++)
        opened.push(this.options.openSession(index));
      return { opened };
    } catch (error) {
      return { opened, refusal: asError(error) };
    }
  }

  #publishStatus(): void {
    if (this.#listeners.size === 0) return;
    const { status } = this;
    for (const listener of this.#listeners) {
      try {
        listener(status);
      } catch (error) {
        this.options.logger.error('A listener for the status of a container threw', {
          container: this.id,
          error: asError(error).message,
        });
      }
    }
  }
}
