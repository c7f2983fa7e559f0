import { ClosedError, type DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { asError } from '../errors/as-error.js';
import type {
  ContainerMeasures,
  MeasuredValues,
} from '../consuming/measures/container-measures.js';
import type { RecordCounts, ConsumingSession } from '../consuming/session/consuming-session.js';
import { defectContext } from '../errors/texts/defect-context.js';
import type { Decision, DecisionPlace } from '../model/outcomes/decision.js';
import type { LaneView } from '../model/states/lane-view.js';
import type { PauseReason } from '../consuming/pauses/pause-reason.js';
import type { CircuitBreakerSlot } from './container-registration.js';
import { noOutcomes, type PartitionOutcomes } from '../consuming/measures/partition-counts.js';
import { AccumulatedCounts } from './health/container-counts.js';
import { ContainerRun, type ContainerDrain } from './container-run.js';
import { aggregate, type ContainerStatus } from './health/container-status.js';
import { failuresOf, throwIfAny } from './shutdown/collect-failures.js';
import type { JoinSlots } from './lifecycle/join-slots.js';

export interface MessageContainerOptions {
  readonly binding: string;
  /** Id of the container: `eventbus-orders`, `eventbus-orders-retry-1`. */
  readonly id: string;
  readonly topic: string;
  readonly groupId: string;
  /** Retry tier; 0 for the main container. */
  readonly tier: number;
  /** Number of sessions. Each one is a member of the group and has its own partitions. */
  readonly concurrency: number;
  readonly circuitBreaker: CircuitBreakerSlot;
  /** Omitted if metrics are disabled. */
  readonly measures?: ContainerMeasures | undefined;
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

/**
 * Reads one topic for one binding. The state of the binding is known to LifecycleManager, not to
 * the container.
 */
export class MessageContainer {
  readonly id: string;
  readonly topic: string;
  readonly groupId: string;
  readonly tier: number;
  readonly concurrency: number;
  readonly circuitBreaker: CircuitBreakerSlot;
  readonly #accumulated = new AccumulatedCounts();
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
   * Opens the sessions and returns while they join; `status` shows their progress. Rejects if the
   * driver refuses an option, but not if a broker is unreachable.
   */
  async start(): Promise<void> {
    if (this.#run) throw new Error(`Container '${this.id}' was started already. Close it first.`);
    const { opened, refusal } = this.#openSessions();
    if (refusal) {
      const failures = await failuresOf(opened.map((session) => () => session.close()));
      throwIfAny([refusal, ...failures], `Container '${this.id}' could not start`);
    }
    this.#accumulated.addSessions(opened);
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
   * Resolves once every session has joined. Rejects with ClosedError if the container is stopped
   * before that.
   */
  async joined(): Promise<void> {
    if (!this.#run)
      throw new ClosedError(`Container '${this.id}' is not started. Start its binding first.`);
    await this.#run.joined;
  }

  /** Pauses all sessions, even if one of them rejects. Afterwards no record reaches a handler. */
  async pause(reason: PauseReason): Promise<void> {
    await this.#run?.pause(reason);
  }

  /** Removes one pause reason. The other reasons remain. */
  async resume(reason: PauseReason): Promise<void> {
    await this.#run?.resume(reason);
  }

  /**
   * Decides about the record for which a partition waits with the pause reason `strict`. With an
   * offset, the record may also be one that holds its partition until its next attempt. Returns
   * false if no partition of this container waits for that record, for example because another
   * process owns it.
   */
  decide(place: DecisionPlace, decision: Decision): boolean {
    return this.#run?.decide(place, decision) ?? false;
  }

  /**
   * Stops handing out, waits at most `drainMs` for running handlers, commits and leaves the group.
   * Never rejects: errors are in the report. Afterwards the container can be started again.
   */
  async close(drainMs = 0): Promise<ContainerDrain> {
    const run = this.#run;
    if (!run) return NOTHING_TO_CLOSE;
    const report = await run.close(drainMs);
    if (this.#run === run) this.#onClosed(report);
    return report;
  }

  /** Approximate memory of the records that were received and are not finished. */
  get bufferedBytes(): number {
    return this.#accumulated.bufferedBytes;
  }

  /** Measured values over all starts; undefined if metrics are disabled. */
  get measuredValues(): MeasuredValues | undefined {
    return this.options.measures?.values;
  }

  /**
   * Outcomes of the partitions that had a record, over all starts. An assigned partition has zeros
   * from its start, so that its first record is seen as a growth.
   */
  get partitionOutcomes(): readonly PartitionOutcomes[] {
    const counted = this.options.measures?.partitions ?? [];
    const known = new Set(counted.map(({ partition }) => partition));
    const assigned = new Set(this.lanes.map(({ partition }) => partition));
    const others = [...assigned].filter((partition) => !known.has(partition));
    return [...counted, ...others.map((partition) => ({ partition, outcomes: noOutcomes() }))];
  }

  get status(): ContainerStatus {
    return aggregate(this.#run?.views ?? [], this.#stoppedSince);
  }

  /** Progress of the partitions that the sessions own at this moment. */
  get lanes(): readonly LaneView[] {
    return this.#run?.lanes ?? [];
  }

  /** Counts over all starts. At any moment, `received` is the sum of all other counts. */
  get counts(): RecordCounts {
    return this.#accumulated.counts;
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
    // The errors are not logged here, because the caller reports them.
    if (complete || (errors.length > 0 && abandoned.length === 0)) return;
    logger.warn('What was not finished and committed in time is delivered again', {
      binding,
      container: this.id,
      redelivered: abandoned.map(
        ({ topic, partition, offset }) => `${topic}-${partition}@${offset}`,
      ),
    });
  }

  /**
   * Opens all sessions in one synchronous step, so that a shutdown finds either all of them or
   * none.
   */
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
          ...defectContext(error),
        });
      }
    }
  }
}
