import {
  LogTruncatedError,
  TopicRecreatedError,
  type AssignedPartition,
  type AssignmentListener,
  type DriverLogger,
  type PartitionError,
  type PositionReset,
  type TopicPartition,
} from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { Committer } from '../commits/committer.js';
import type { PartitionPauser } from '../pauses/partition-pauser.js';
import type { Lanes } from '../lanes/lanes.js';
import type { PartitionLane } from '../lanes/partition-lane.js';
import { type LaneDrain, positionOf } from './lane-drain.js';

export interface RebalanceParts {
  readonly lanes: Lanes;
  readonly pauser: PartitionPauser;
  readonly committer: Committer;
  readonly drain: LaneDrain;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  newLane(assigned: AssignedPartition): PartitionLane;
  /** True if a recreated topic is read from its beginning, instead of waiting for an operator. */
  readonly readsRecreatedTopics: boolean;
  readonly drainTimeoutMs: number;
  onChange(): void;
}

/**
 * Delay before a recreated topic is read, and between two checks whether the records of the deleted
 * topic are done.
 */
const RECREATED_TOPIC_CHECK_MS = 1_000;

/** Adds lanes for assigned partitions, and drains the lanes of revoked ones. */
export class EventBusRebalanceListener implements AssignmentListener {
  constructor(private readonly parts: RebalanceParts) {}

  onAssigned(partitions: readonly AssignedPartition[]): void {
    for (const assigned of partitions) this.#addLane(assigned);
    this.parts.logger.info('Partitions assigned', {
      partitions: partitions.map(({ topic, partition, position, committed }) => ({
        topic,
        partition,
        position,
        committed: committed?.offset ?? null,
      })),
    });
    this.parts.onChange();
  }

  /**
   * Waits for running handlers and commits completed records, in the order of `LaneDrain.drain`.
   * Only then may the next owner start.
   */
  async onRevoked(partitions: readonly TopicPartition[]): Promise<void> {
    const { lanes, drain, drainTimeoutMs } = this.parts;
    await drain.drain(lanes.of(partitions), drainTimeoutMs, 'revoked');
    this.parts.onChange();
  }

  /**
   * Drops the lanes without a commit, because another member already owns the partitions and starts
   * at the committed offsets.
   */
  onLost(partitions: readonly TopicPartition[]): void {
    const lost = this.parts.lanes.of(partitions);
    for (const lane of lost) this.parts.drain.drop(lane, 'lost');
    this.parts.logger.warn('Partitions lost: what was not committed is delivered again elsewhere', {
      partitions: lost.map(positionOf),
    });
    this.parts.onChange();
  }

  onStopped(error: PartitionError): void {
    const { topic, partition, offset, code } = error;
    this.parts.logger.error('A partition cannot be read on', {
      topic,
      partition,
      offset,
      code,
      reason: error.message,
    });
    const lane = this.parts.lanes.get(topic, partition);
    if (!lane) return;
    if (error instanceof TopicRecreatedError || error instanceof LogTruncatedError)
      lane.stopCommitting();
    this.parts.pauser.onReadingStopped(lane, error);
    if (error instanceof TopicRecreatedError && this.parts.readsRecreatedTopics)
      this.#scheduleRecreatedTopic(lane, lane.tracker.next);
  }

  /**
   * Handles a reset of the position. After a reset to a lower offset, the same offsets may belong
   * to other records, so the partition gets a new lane.
   */
  onReset({ topic, partition, from, to, policy, reason }: PositionReset): void {
    const lane = this.parts.lanes.get(topic, partition);
    if (!lane || lane.tracker.next === to) return;
    this.parts.logger.warn('Reading goes on elsewhere by the reset policy', {
      topic,
      partition,
      from,
      to,
      policy,
      reason,
    });
    // Retention deleted the records in between. Records that were received before are still valid.
    if (from !== null && to > from) return advanceTo(lane, to);
    // Unfinished records that still exist are read again, so that the watermark cannot pass them.
    const position = Math.min(to, lane.tracker.watermark);
    this.parts.drain.drop(lane, 'revoked');
    const next = this.#addLane({ topic, partition, position, committed: null });
    if (position < to) this.parts.pauser.seek(next, position);
  }

  /**
   * Schedules reading the new topic. `readUpTo` is the position up to which the old topic was read.
   */
  #scheduleRecreatedTopic(lane: PartitionLane, readUpTo: number): void {
    const look = (): void => void this.#readRecreatedTopic(lane, readUpTo);
    this.parts.runtime.setTimer(look, RECREATED_TOPIC_CHECK_MS, { background: true });
  }

  /**
   * Replaces the lane of a deleted topic by one for the new topic.
   *
   * 1. Records of the old topic exist nowhere else, so they are finished first, as far as that
   *    is possible without a delay. A record that is handed back now, because it failed or because
   *    the binding is paused, is lost.
   * 2. The group commits offset 0. Otherwise a late commit for the old topic, which brokers
   *    accept by name, would hide records of the new topic.
   * 3. The new topic is read from its beginning.
   */
  async #readRecreatedTopic(lane: PartitionLane, readUpTo: number): Promise<void> {
    const { committer, drain, pauser, logger } = this.parts;
    const { topic, partition } = lane;
    if (!this.#canReplace(lane)) return;
    if (lane.backlog > 0 || lane.running.length > 0)
      return this.#scheduleRecreatedTopic(lane, readUpTo);
    lane.commitBeginning();
    await committer.whenStored(lane);
    if (!this.#canReplace(lane)) return;
    const { watermark } = lane.tracker;
    drain.drop(lane, 'revoked');
    if (watermark < readUpTo)
      logger.error('Records went with the topic that was deleted: they were read and not done', {
        topic,
        partition,
        from: watermark,
        to: readUpTo - 1,
      });
    logger.warn('A topic was deleted and created again: the new one is read from its beginning', {
      topic,
      partition,
    });
    pauser.seek(this.#addLane({ topic, partition, position: 0, committed: null }), 0);
    this.parts.onChange();
  }

  #canReplace(lane: PartitionLane): boolean {
    return this.parts.lanes.owns(lane) && !this.parts.drain.isDraining(lane);
  }

  #addLane(assigned: AssignedPartition): PartitionLane {
    const { lanes, pauser } = this.parts;
    const lane = this.parts.newLane(assigned);
    lanes.add(lane);
    pauser.onLaneAdded(lane);
    return lane;
  }
}

/**
 * Moves the lane past the deleted offsets. A lane that is paused or has ended stays where it is: it
 * has dropped its buffer, so the driver reads from the old position and resets it once more.
 */
function advanceTo(lane: PartitionLane, offset: number): void {
  if (!lane.isPaused && !lane.hasEnded) lane.tracker.advanceTo(offset);
}
