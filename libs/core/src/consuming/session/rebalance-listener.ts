import {
  type AssignedPartition,
  type AssignmentListener,
  type DriverLogger,
  errorReasonOf,
  LogTruncatedError,
  type PartitionError,
  type PositionReset,
  type TopicPartition,
  TopicRecreatedError,
} from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { Committer } from '../commits/committer.js';
import type { PartitionPauser } from '../pauses/partition-pauser.js';
import type { Lanes } from '../lanes/lanes.js';
import type { PartitionLane } from '../lanes/partition-lane.js';
import type { PartitionObserver } from './consuming-session.js';
import { type LaneDrain, positionOf } from './lane-drain.js';
import { RecreatedTopics, type RecreatedTopicsParts } from './recreated-topics.js';

export interface RebalanceParts {
  readonly lanes: Lanes;
  readonly pauser: PartitionPauser;
  readonly committer: Committer;
  readonly drain: LaneDrain;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  newLane(assigned: AssignedPartition): PartitionLane;
  /** Options of `RecreatedTopics`. */
  readonly recreatedTopics: Pick<
    RecreatedTopicsParts,
    'policy' | 'knownIds' | 'topics' | 'topicIdOf' | 'endsOf'
  >;
  readonly drainTimeoutMs: number;
  onChange(): void;
  readonly observer?: PartitionObserver | undefined;
}

/** Adds lanes for assigned partitions, and drains the lanes of revoked ones. */
export class EventBusRebalanceListener implements AssignmentListener {
  readonly #recreated: RecreatedTopics;

  constructor(private readonly parts: RebalanceParts) {
    this.#recreated = new RecreatedTopics({
      ...parts,
      ...parts.recreatedTopics,
      addLane: (assigned) => this.#addLane(assigned),
    });
  }

  onAssigned(partitions: readonly AssignedPartition[]): void {
    for (const assigned of partitions) this.#addLane(assigned);
    this.#recreated.onAssigned(partitions);
    this.parts.logger.info('Partitions assigned', {
      partitions: partitions.map(({ topic, partition, position, committed }) => ({
        topic,
        partition,
        position,
        committed: committed?.offset ?? null,
      })),
    });
    this.parts.observer?.onAssigned(partitions);
    this.parts.onChange();
  }

  /**
   * Waits for running handlers and commits completed records, in the order of `LaneDrain.drain`.
   * Only then may the next owner start.
   */
  async onRevoked(partitions: readonly TopicPartition[]): Promise<void> {
    const { lanes, drain, drainTimeoutMs } = this.parts;
    const revoked = lanes.of(partitions);
    this.#recreated.onRevoked(revoked);
    await drain.drain(revoked, drainTimeoutMs, 'revoked');
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
    this.parts.observer?.onRevoked(lost, true);
    this.parts.onChange();
  }

  onStopped(error: PartitionError): void {
    const { topic, partition, offset, code } = error;
    const lane = this.parts.lanes.get(topic, partition);
    const isRecreated = error instanceof TopicRecreatedError;
    const reason = errorReasonOf(lane && isRecreated ? this.#recreated.errorOf(lane) : error);
    this.parts.logger.error('A partition cannot be read on', {
      topic,
      partition,
      offset,
      code,
      reason,
    });
    this.parts.observer?.onStopped(error);
    if (!lane) return;
    if (isRecreated) return this.#recreated.onStopped(lane);
    if (error instanceof LogTruncatedError) lane.stopCommitting();
    this.parts.pauser.onReadingStopped(lane, error);
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
    this.#recreated.onReset(lane, next);
    if (position < to) this.parts.pauser.seek(next, position);
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
  if (lane.phase === 'open') lane.tracker.advanceTo(offset);
}
