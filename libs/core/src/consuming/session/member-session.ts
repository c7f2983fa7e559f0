import type {
  AssignedPartition,
  BrokerDriver,
  ConsumerSession,
  TopicPartition,
} from '@nest-event-bus/broker';
import { abortable, resolvesWithin } from '@nest-event-bus/broker/runtime';
import { defectContext } from '../../errors/texts/defect-context.js';
import type { CommittingMember } from '../../model/records/assignment.js';
import type { Outcome } from '../../model/outcomes/outcome.js';
import { Committer, type AnsweredCommit } from '../commits/committer.js';
import { type AbortCause, DeliveryAbortedException } from '../../errors/delivery-errors.js';
import type { HandlerSlots } from '../lanes/handler-slots.js';
import type { HandlerWatch } from './handler-watch.js';
import type { DrainReport, ConsumingSessionOptions, PartitionPause } from './consuming-session.js';
import type { Decision, DecisionPlace } from '../../model/outcomes/decision.js';
import type { LaneDelivery } from '../lanes/lane-delivery.js';
import { PartitionPauser } from '../pauses/partition-pauser.js';
import type { Lanes } from '../lanes/lanes.js';
import type { LanePause, LaneObserver, Membership } from '../lanes/lane-parts.js';
import type { MetadataBudget } from '../commits/metadata-budget.js';
import { FINAL_COMMIT_TIMEOUT_MS, LaneDrain } from './lane-drain.js';
import { createLane } from '../lanes/create-lane.js';
import type { PartitionLane } from '../lanes/partition-lane.js';
import { partitionName } from '../lanes/partition-name.js';
import type { PauseReasonSets } from '../pauses/pause-reason-sets.js';
import { PollLoop } from './poll-loop.js';
import type { KnownTopicIds } from './recreated-topics.js';
import { EventBusRebalanceListener } from './rebalance-listener.js';
import type { RecordCounters } from './record-counters.js';

/** State that continues to exist when a consumer session fails. */
export interface MemberSessionParts {
  readonly options: ConsumingSessionOptions;
  readonly pauseReasons: PauseReasonSets;
  readonly lanes: Lanes;
  readonly slots: HandlerSlots;
  readonly budget: MetadataBudget;
  readonly counters: RecordCounters;
  readonly watch: HandlerWatch;
  readonly topicIds: KnownTopicIds;
  onJoined(): void;
  onChange(): void;
}

/** Runs one consumer session, that is one member of the group, until it ends. */
export class MemberSession implements LaneObserver, Membership {
  readonly session: ConsumerSession;
  commitError: Error | undefined;
  readonly #committer: Committer;
  readonly #pauser: PartitionPauser;
  readonly #drain: LaneDrain;
  readonly #listener: EventBusRebalanceListener;
  readonly #polling: PollLoop;
  readonly #givenUp = new AbortController();
  #overdue: readonly LaneDelivery[] = [];

  constructor(private readonly parts: MemberSessionParts) {
    const { pauseReasons, lanes } = parts;
    const { driver, consumer, settings, bufferLimit, runtime, logger } = parts.options;
    const { maxPollRecords, idleBetweenPollsMs, rebalanceDrainTimeoutMs } = settings;
    const session = driver.consumer(consumer);
    const onChange = (): void => parts.onChange();
    this.session = session;
    this.#committer = new Committer({
      session,
      runtime,
      logger,
      budget: parts.budget,
      onAnswered: (answered) => this.#onCommitAnswered(answered),
      onError: (error) => {
        this.commitError = error;
        onChange();
      },
    });
    const committer = this.#committer;
    const pauser = new PartitionPauser({ session, pauseReasons, lanes, runtime, logger, onChange });
    this.#pauser = pauser;
    const observer = parts.options.partitions;
    this.#drain = new LaneDrain({ lanes, pauser, committer, runtime, logger, observer });
    this.#listener = new EventBusRebalanceListener({
      lanes,
      pauser,
      committer,
      drain: this.#drain,
      runtime,
      logger,
      newLane: (assigned) => this.#newLane(assigned),
      recreatedTopics: {
        policy: parts.options.onTopicRecreated ?? 'stop',
        knownIds: parts.topicIds,
        topics: consumer.topics,
        topicIdOf: (topic) => session.topicId(topic),
        endsOf: (topic) => endsOf(driver, topic),
      },
      drainTimeoutMs: rebalanceDrainTimeoutMs,
      onChange,
      observer,
    });
    this.#polling = new PollLoop({
      session,
      lanes,
      pauser,
      bufferLimit,
      runtime,
      logger,
      maxPollRecords,
      idleBetweenPollsMs,
      tracing: parts.options.tracing,
    });
    session.onStatus(onChange);
  }

  /**
   * Joins and polls until `polling` aborts or the session ends. Returns the error with which the
   * session ended.
   */
  async run(ending: AbortSignal, polling: AbortSignal): Promise<unknown> {
    try {
      await this.session.start(this.#listener, ending);
      this.parts.onJoined();
      return await this.#polling.run(AbortSignal.any([polling, this.#givenUp.signal]));
    } catch (error) {
      return error;
    }
  }

  get isGivenUp(): boolean {
    return this.#givenUp.signal.aborted;
  }

  /**
   * Ends the session as if it had failed with this error, because the given handlers exceed
   * maxPollIntervalMs.
   */
  giveUp(overdue: readonly LaneDelivery[], error: Error): void {
    this.#overdue = overdue;
    this.#givenUp.abort(error);
  }

  /**
   * After the session left because of an overdue handler, gives the other handlers as much time as
   * a rebalance would.
   */
  async waitForOtherHandlers(signal: AbortSignal): Promise<void> {
    if (!this.isGivenUp) return;
    const { lanes, options } = this.parts;
    for (const delivery of this.#overdue)
      delivery.abort(new DeliveryAbortedException('session-ended'));
    for (const lane of lanes) {
      this.#pauser.stopHandout(lane);
      lane.abortWaits(new DeliveryAbortedException('session-ended'));
    }
    const others = lanes.current.filter((delivery) => !this.#overdue.includes(delivery));
    const ended = Promise.all(others.map((delivery) => delivery.whenEnded()));
    const { rebalanceDrainTimeoutMs } = options.settings;
    await resolvesWithin(options.runtime, rebalanceDrainTimeoutMs, abortable(ended, signal));
  }

  /** Applies the pause reasons of the session, and commits completed records. */
  async pause(): Promise<void> {
    const { lanes } = this.parts;
    this.#pauser.update();
    for (const lane of lanes)
      if (lane.phase === 'paused') lane.abortWaits(new DeliveryAbortedException('paused'));
    await this.#committer.flush([...lanes], FINAL_COMMIT_TIMEOUT_MS);
  }

  resume(): void {
    this.#pauser.endPausesOnResume();
    this.#pauser.update();
  }

  /**
   * Applies a decision. Returns false if no record of this partition waits for one in this session.
   */
  decide({ topic, partition, offset }: DecisionPlace, decision: Decision): boolean {
    const lane = this.parts.lanes.get(topic, partition);
    return lane !== undefined && this.#pauser.decide(lane, decision, offset);
  }

  partitionPauses(): readonly PartitionPause[] {
    return this.#pauser.pauses();
  }

  /**
   * Drains all lanes, then leaves the group. Never rejects. May be called again with a longer drain
   * time, if the session is stopped while a failed consumer session is replaced.
   */
  async close(drainMs: number, cause: AbortCause): Promise<DrainReport> {
    const { lanes, options } = this.parts;
    try {
      return await this.#drain.drain([...lanes, ...lanes.lingering], drainMs, cause);
    } catch (error) {
      options.logger.error('The partitions could not be drained in order', defectContext(error));
      return { complete: false, abandoned: [] };
    } finally {
      await this.#leave(cause);
    }
  }

  #onCommitAnswered({ commits, tookMs, error }: AnsweredCommit): void {
    const { measures, tracing, runtime } = this.parts.options;
    measures?.committed(tookMs);
    tracing?.tracer.settled(tracing.container, commits, runtime.now() - tookMs, error);
  }

  async #leave(cause: AbortCause): Promise<void> {
    try {
      await this.session.close();
    } catch (error) {
      this.parts.options.logger.error(
        'The consumer session did not close in order',
        defectContext(error),
      );
    }
    this.#committer.close();
    // A rebalance may have assigned more partitions while the session left the group.
    for (const lane of [...this.parts.lanes]) this.#drain.drop(lane, cause);
  }

  onBufferSpace(lane: PartitionLane): void {
    this.#pauser.releaseBackpressure(lane);
  }

  onWaiting(lane: PartitionLane): void {
    this.#pauser.onWaitingChanged(lane);
  }

  onRunning(): void {
    this.parts.watch.arm();
  }

  onPause(lane: PartitionLane, pause: LanePause): void {
    this.#committer.request(lane);
    switch (pause.kind) {
      case 'undecided':
        return this.#pauser.pauseUntilDecided(lane, pause);
      case 'failed': {
        const { error, delayMs } = pause;
        return this.#pauser.pauseFor(lane, {
          reason: 'backoff',
          delayMs,
          error,
          endsOnResume: false,
        });
      }
      case 'handed-back': {
        const { delayMs, isChosen } = pause;
        return this.#pauser.pauseFor(lane, { reason: 'delay', delayMs, endsOnResume: !isChosen });
      }
      case 'slice-cut':
        return this.#pauser.pauseFor(lane, { reason: 'delay', delayMs: 0, endsOnResume: true });
    }
  }

  onLate(_: PartitionLane, { record }: LaneDelivery, outcome: Outcome): void {
    const { topic, partition, offset } = record;
    this.parts.options.logger.warn(
      'A handler ended after its partition was taken away: its record is delivered again',
      { topic, partition, offset, outcome: outcome.kind },
    );
  }

  /**
   * Returns the member for commits in a transaction; undefined if the partition is not assigned.
   * The generation is needed, because without it a broker would accept offsets from any member.
   */
  member(partition: TopicPartition): CommittingMember | undefined {
    const { memberId, generation } = this.session;
    const isOurs = this.session.position(partition) !== undefined;
    if (!isOurs || generation < 0 || memberId === '') return undefined;
    const { groupId, groupInstanceId = null } = this.parts.options.consumer;
    return { groupId, memberId, generation, groupInstanceId };
  }

  async stored({ topic, partition }: TopicPartition): Promise<number> {
    const [committed] = await this.session.committed([{ topic, partition }]);
    return committed?.offset ?? 0;
  }

  #newLane(assigned: AssignedPartition): PartitionLane {
    const { options, counters, lanes, slots, budget } = this.parts;
    const { topic, partition } = assigned;
    return createLane(assigned, {
      ...options,
      counters,
      slots,
      progress: { topicId: this.session.topicId(topic), budget },
      committer: this.#committer,
      observer: this,
      membership: this,
      previousHandlers: lanes.previousHandlersOf(partitionName(topic, partition)),
    });
  }
}

async function endsOf(driver: BrokerDriver, topic: string): Promise<ReadonlyMap<number, number>> {
  const admin = driver.admin();
  try {
    const watermarks = await admin.watermarks(topic);
    return new Map(watermarks.map(({ partition, high }) => [partition, high]));
  } finally {
    await admin.close();
  }
}
