import {
  type AssignedPartition,
  type DriverLogger,
  errorReasonOf,
  type TopicPartition,
  TopicRecreatedError,
} from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { OnTopicRecreated } from '../../model/states/on-topic-recreated.js';
import type { Committer } from '../commits/committer.js';
import type { Lanes } from '../lanes/lanes.js';
import type { PartitionLane } from '../lanes/partition-lane.js';
import type { PartitionPauser } from '../pauses/partition-pauser.js';
import type { LaneDrain } from './lane-drain.js';

/**
 * The ids that topics had when this session began to read them. They continue to exist when a
 * consumer session fails.
 */
export class KnownTopicIds {
  readonly #ids = new Map<string, string>();

  /** Returns whether the topic has another id than before. Remembers an id that is new. */
  isAnother(topic: string, id: string | null): boolean {
    if (id === null) return false;
    const known = this.#ids.get(topic);
    if (known === undefined) this.#ids.set(topic, id);
    return known !== undefined && known !== id;
  }
}

export interface RecreatedTopicsParts {
  readonly policy: OnTopicRecreated;
  readonly knownIds: KnownTopicIds;
  /** Topics that the session reads. */
  readonly topics: readonly string[];
  readonly lanes: Lanes;
  readonly pauser: PartitionPauser;
  readonly committer: Committer;
  readonly drain: LaneDrain;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  /** Returns the id that the topic has now; null if it is unknown. */
  topicIdOf(topic: string): string | null;
  /** Resolves with the offset after the last record. */
  endOf(partition: TopicPartition): Promise<number>;
  addLane(assigned: AssignedPartition): PartitionLane;
  onChange(): void;
}

/**
 * Delay before a recreated topic is read, and between two checks whether the records of the deleted
 * topic are done.
 */
const CHECK_MS = 1_000;

/**
 * Handles topics that are deleted and created again while they are read.
 *
 * A session notices a new topic in two ways, and which one comes first depends on the group protocol and on
 * chance. Either the driver cannot read the partition any further, or the group takes the partition away and
 * assigns it again, without a committed offset.
 */
export class RecreatedTopics {
  /** The ids that the topics of lanes had when the lanes were added. */
  readonly #idOf = new WeakMap<PartitionLane, string | null>();

  constructor(private readonly parts: RecreatedTopicsParts) {}

  /** Called after lanes were added for assigned partitions, before a record of them is read. */
  onAssigned(partitions: readonly AssignedPartition[]): void {
    const { knownIds, topics, lanes, topicIdOf } = this.parts;
    const recreated = new Set(
      topics.filter((topic) => knownIds.isAnother(topic, topicIdOf(topic))),
    );
    for (const { topic, partition, committed } of partitions) {
      const lane = lanes.get(topic, partition);
      if (!lane) continue;
      this.#idOf.set(lane, topicIdOf(topic));
      // With a committed offset, a member has begun to read the new topic.
      if (recreated.has(topic) && committed === null) this.#hold(lane);
    }
  }

  /**
   * Stops the commits of lanes whose topic is another one now. Brokers accept commits by name, so
   * they would count for the new topic.
   */
  onRevoked(lanes: readonly PartitionLane[]): void {
    for (const lane of lanes) {
      const id = this.parts.topicIdOf(lane.topic);
      const known = this.#idOf.get(lane) ?? null;
      if (id !== null && known !== null && id !== known) lane.stopCommitting();
    }
  }

  /** Called when the driver cannot read the partition any further. */
  onStopped(lane: PartitionLane): void {
    lane.stopCommitting();
    this.parts.pauser.onReadingStopped(lane, this.errorOf(lane));
    this.#scheduleUnlessStopped(lane);
  }

  /** Returns the error for log and health, with what an operator can do. */
  errorOf({ topic, partition, tracker }: PartitionLane): TopicRecreatedError {
    const effect =
      this.parts.policy === 'stop'
        ? "Its partition waits: stop and start the binding to read the new topic as offsetReset says, or set onTopicRecreated to 'earliest' or 'latest'."
        : 'It is read when the records of the deleted topic are done.';
    return new TopicRecreatedError(
      topic,
      partition,
      tracker.next,
      `Topic '${topic}' was deleted and created again: offset ${tracker.next} of partition ${partition} belonged to the deleted one. ${effect}`,
    );
  }

  #hold(lane: PartitionLane): void {
    const { pauser, logger } = this.parts;
    const error = this.errorOf(lane);
    const { topic, partition } = lane;
    lane.stopCommitting();
    pauser.hold(lane, error);
    logger.error('A partition cannot be read on', {
      topic,
      partition,
      code: error.code,
      reason: errorReasonOf(error),
    });
    this.#scheduleUnlessStopped(lane);
  }

  #scheduleUnlessStopped(lane: PartitionLane): void {
    if (this.parts.policy !== 'stop') this.#schedule(lane, lane.tracker.next);
  }

  /**
   * Schedules reading the new topic. `readUpTo` is the position up to which the old topic was read.
   */
  #schedule(lane: PartitionLane, readUpTo: number): void {
    const look = (): void => void this.#read(lane, readUpTo);
    this.parts.runtime.setTimer(look, CHECK_MS, { background: true });
  }

  /**
   * Replaces the lane of a deleted topic by one for the new topic.
   *
   * 1. Records of the old topic exist nowhere else, so they are finished first, as far as that
   *    is possible without a delay. A record that is handed back now, because it failed or because
   *    the binding is paused, is lost.
   * 2. The group commits the offset where reading begins. Otherwise a late commit for the old
   *    topic, which brokers accept by name, would hide records of the new topic.
   * 3. The new topic is read from there.
   */
  async #read(lane: PartitionLane, readUpTo: number): Promise<void> {
    const { committer, drain, pauser, logger } = this.parts;
    const { topic, partition } = lane;
    if (!this.#canReplace(lane)) return;
    if (lane.backlog > 0 || lane.running.length > 0) return this.#schedule(lane, readUpTo);
    const start = await this.#startOf(lane);
    if (start === undefined) return this.#schedule(lane, readUpTo);
    lane.commitStart(start);
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
    logger.warn(
      `A topic was deleted and created again: the new one is read from its ${this.parts.policy === 'latest' ? 'end' : 'beginning'}`,
      { topic, partition, offset: start },
    );
    const next = this.parts.addLane({ topic, partition, position: start, committed: null });
    this.#idOf.set(next, this.parts.topicIdOf(topic));
    pauser.seek(next, start);
    this.parts.onChange();
  }

  /** Returns where reading begins; undefined if that has to be looked up again. */
  async #startOf(lane: PartitionLane): Promise<number | undefined> {
    if (this.parts.policy !== 'latest') return 0;
    try {
      return await this.parts.endOf(lane);
    } catch (error) {
      this.parts.logger.warn('The end of a recreated topic could not be looked up: trying again', {
        partition: lane.name,
        reason: errorReasonOf(error),
      });
      return undefined;
    }
  }

  #canReplace(lane: PartitionLane): boolean {
    return this.parts.lanes.owns(lane) && !this.parts.drain.isDraining(lane);
  }
}
