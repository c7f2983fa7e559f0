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
import { resolvesWithin, type Runtime } from '@nest-event-bus/broker/runtime';
import type { CommitSource, Committer } from '../commits/committer.js';
import { DeliveryAbortedException } from '../../errors/delivery-errors.js';
import type { LaneGate } from '../pauses/lane-gate.js';
import type { Lanes } from '../lanes/lanes.js';
import type { PartitionLane } from '../lanes/partition-lane.js';

export interface RebalanceParts {
  readonly lanes: Lanes;
  readonly gate: LaneGate;
  readonly committer: Committer;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  newLane(assigned: AssignedPartition): PartitionLane;
  /** Whether a topic that took the place of its own is read on, instead of waiting for an operator. */
  readonly readsRecreatedTopics: boolean;
  /** How long running handlers may go on. */
  drainTimeoutMs(): number;
  /** How long the commit that follows may take. */
  commitTimeoutMs(): number;
  onChange(): void;
}

/** The rebalance time-out leaves 10 s besides the drain: half of it for the commit. */
export const FINAL_COMMIT_TIMEOUT_MS = 5_000;

/** Before the successor of a topic is read, and between two looks at what is still to be done of the topic itself. */
const RECREATED_TOPIC_CHECK_MS = 1_000;

/** Begins and ends the assignments of partitions: what is done of them is committed before they go. */
export class EventBusRebalanceListener implements AssignmentListener {
  /** They are being handed back. */
  readonly #beingRevoked = new WeakSet<PartitionLane>();
  /** What is told to the group before the successor of a lane's topic is read. */
  readonly #initialCommits = new WeakMap<PartitionLane, CommitSource>();

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

  /** Running handlers have the drain time; their retry waits end at once. */
  async onRevoked(partitions: readonly TopicPartition[]): Promise<void> {
    const { lanes, gate, committer, logger } = this.parts;
    const revoked = lanes.of(partitions);
    for (const lane of revoked) {
      this.#beingRevoked.add(lane);
      gate.stopForRevocation(lane);
      lane.abortWaits(new DeliveryAbortedException('revoked'));
    }
    await waitForHandlers(this.parts.runtime, revoked, this.parts.drainTimeoutMs());
    for (const lane of revoked) {
      lane.end();
      lane.abort(new DeliveryAbortedException('revoked'));
    }
    const owned = revoked.filter((lane) => lanes.owns(lane));
    const isCommitted = await committer.flush(owned, this.parts.commitTimeoutMs());
    logger.info('Partitions revoked', { partitions: revoked.map(positionOf), isCommitted });
    for (const lane of revoked) this.#removeLane(lane);
    this.parts.onChange();
  }

  /** Too late to commit: somebody else owns them and starts at what is committed. */
  onLost(partitions: readonly TopicPartition[]): void {
    const lost = this.parts.lanes.of(partitions);
    for (const lane of lost) {
      lane.end();
      lane.abort(new DeliveryAbortedException('lost'));
      this.#removeLane(lane);
    }
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
    lane.end();
    lane.abort(new DeliveryAbortedException('revoked'));
    this.#removeLane(lane);
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
    const { committer, gate, logger } = this.parts;
    const { topic, partition, name } = lane;
    if (!this.#canReplace(lane)) return;
    if (lane.backlog > 0 || lane.running.length > 0)
      return this.#scheduleRecreatedTopic(lane, readUpTo);
    const beginning = initialCommitOf(topic, partition, name);
    this.#initialCommits.set(lane, beginning);
    await committer.whenStored(beginning);
    if (!this.#canReplace(lane)) return;
    const { watermark } = lane.tracker;
    lane.end();
    this.#removeLane(lane);
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
    return this.parts.lanes.owns(lane) && !lane.hasEnded && !this.#beingRevoked.has(lane);
  }

  #addLane(assigned: AssignedPartition): PartitionLane {
    const { lanes, gate } = this.parts;
    const lane = this.parts.newLane(assigned);
    lanes.add(lane);
    gate.onLaneAdded(lane);
    return lane;
  }

  #removeLane(lane: PartitionLane): void {
    const { lanes, gate, committer } = this.parts;
    if (!lanes.owns(lane)) return;
    committer.forget(lane);
    const beginning = this.#initialCommits.get(lane);
    if (beginning) committer.forget(beginning);
    lanes.remove(lane);
    gate.onLaneRemoved(lane);
  }
}

/** To be committed once, and then to be forgotten. */
function initialCommitOf(topic: string, partition: number, name: string): CommitSource {
  let isTold = false;
  return {
    topic,
    partition,
    name,
    commitPoint: () => (isTold ? undefined : { topic, partition, offset: 0 }),
    confirm: () => void (isTold = true),
  };
}

/** One that is held or has ended gave back what it had: it is read again from there, and reset again if it must. */
function advanceTo(lane: PartitionLane, offset: number): void {
  if (!lane.isPaused && !lane.hasEnded) lane.tracker.advanceTo(offset);
}

/** Resolves when no handler of these lanes runs any more; no later than this. */
export async function waitForHandlers(
  runtime: Runtime,
  lanes: readonly PartitionLane[],
  timeoutMs: number,
): Promise<void> {
  const busy = lanes.filter((lane) => lane.running.length > 0);
  if (busy.length === 0 || timeoutMs <= 0) return;
  const idle = Promise.all(busy.map((lane) => lane.whenIdle()));
  await resolvesWithin(runtime, timeoutMs, idle);
}

function positionOf({ topic, partition, committed, running }: PartitionLane) {
  return { topic, partition, committed, stillRunning: running.length };
}
