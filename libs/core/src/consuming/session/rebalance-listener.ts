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
  /** Whether a topic that took the place of its own is read on, instead of waiting for an operator. */
  readonly readsRecreatedTopics: boolean;
  readonly drainTimeoutMs: number;
  onChange(): void;
}

/** Before the successor of a topic is read, and between two looks at what is still to be done of the topic itself. */
const RECREATED_TOPIC_CHECK_MS = 1_000;

/** Begins and ends the assignments of partitions: what is done of them is committed before they go. */
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

  /** Too late to commit: somebody else owns them and starts at what is committed. */
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

  /** Going back, offsets mean something else from there on: that is another assignment to us. */
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
    // Retention took the records in between. Those that were received before are as good as ever.
    if (from !== null && to > from) return advanceTo(lane, to);
    // What is unfinished there and was not cut off has to come again: nothing may pass it.
    const position = Math.min(to, lane.tracker.watermark);
    this.parts.drain.drop(lane, 'revoked');
    const next = this.#addLane({ topic, partition, position, committed: null });
    if (position < to) this.parts.gate.seek(next, position);
  }

  /** `readUpTo`: how far the old topic was read. */
  #scheduleRecreatedTopic(lane: PartitionLane, readUpTo: number): void {
    const look = (): void => void this.#readRecreatedTopic(lane, readUpTo);
    this.parts.runtime.setTimer(look, RECREATED_TOPIC_CHECK_MS, { background: true });
  }

  /**
   * What was read of the old topic is nowhere else: it is done first, as far as it can be done at
   * once. What is given back now, because it failed again or because somebody paused the binding,
   * can never be read again. Then the new topic is read from its beginning, and the group is told so
   * before: an offset of the old one, committed by name in the last moment, would hide records of
   * the new one.
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

/** One that is held or has ended gave back what it had: it is read again from there, and reset again if it must. */
function advanceTo(lane: PartitionLane, offset: number): void {
  if (!lane.isPaused && !lane.hasEnded) lane.tracker.advanceTo(offset);
}
