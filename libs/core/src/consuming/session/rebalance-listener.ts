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
import type { LaneGate } from '../pauses/lane-gate.js';
import type { Lanes } from '../lanes/lanes.js';
import type { PartitionLane } from '../lanes/partition-lane.js';
import { type LaneDrain, positionOf } from './lane-drain.js';

export interface RebalanceParts {
  readonly lanes: Lanes;
  readonly gate: LaneGate;
  readonly committer: Committer;
  readonly drain: LaneDrain;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  newLane(assigned: AssignedPartition): PartitionLane;
  /** Reads a recreated topic, instead of waiting for an operator. */
  readonly readsRecreatedTopics: boolean;
  readonly drainTimeoutMs: number;
  onChange(): void;
}

/**
 * Delay before a recreated topic is read, and between two checks whether the records of its
 * predecessor are done.
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

  /** Commits what is done before the next owner starts. */
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
    this.parts.gate.onReadingStopped(lane, error);
    if (error instanceof TopicRecreatedError && this.parts.readsRecreatedTopics)
      this.#scheduleRecreatedTopic(lane, lane.tracker.next);
  }

  /**
   * A reset to a lower offset gives the same offsets another meaning, so it counts as a new
   * assignment.
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
    // Retention deleted the records in between. Records that were received before stay valid.
    if (from !== null && to > from) return advanceTo(lane, to);
    // Unfinished records that still exist are read again, so that nothing passes them.
    const position = Math.min(to, lane.tracker.watermark);
    this.parts.drain.drop(lane, 'revoked');
    const next = this.#addLane({ topic, partition, position, committed: null });
    if (position < to) this.parts.gate.seek(next, position);
  }

  /** `readUpTo` is how far the old topic was read. */
  #scheduleRecreatedTopic(lane: PartitionLane, readUpTo: number): void {
    const look = (): void => void this.#readRecreatedTopic(lane, readUpTo);
    this.parts.runtime.setTimer(look, RECREATED_TOPIC_CHECK_MS, { background: true });
  }

  /**
   * Replaces the lane of a deleted topic by one for the new topic.
   *
   * 1. Records of the old topic exist nowhere else, so they are finished first, as far as possible
   * at once. A record that is handed back now, because it failed again or because the binding is
   * paused, is lost.
   *
   * 2. The group commits offset 0. Otherwise a late commit of the old topic, which brokers accept
   * by name, would hide records of the new topic.
   *
   * 3. The new topic is read from its beginning.
   */
  async #readRecreatedTopic(lane: PartitionLane, readUpTo: number): Promise<void> {
    const { committer, drain, gate, logger } = this.parts;
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
    gate.seek(this.#addLane({ topic, partition, position: 0, committed: null }), 0);
    this.parts.onChange();
  }

  #canReplace(lane: PartitionLane): boolean {
    return this.parts.lanes.owns(lane) && !this.parts.drain.isDraining(lane);
  }

  #addLane(assigned: AssignedPartition): PartitionLane {
    const { lanes, gate } = this.parts;
    const lane = this.parts.newLane(assigned);
    lanes.add(lane);
    gate.onLaneAdded(lane);
    return lane;
  }
}

/**
 * A lane that is paused or has ended has dropped its buffer. It reads that range again, and is
 * reset again if necessary.
 */
function advanceTo(lane: PartitionLane, offset: number): void {
  if (!lane.isPaused && !lane.hasEnded) lane.tracker.advanceTo(offset);
}
