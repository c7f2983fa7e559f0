import {
  type AssignedPartition,
  type CommittedOffset,
  type DriverLogger,
  errorReasonOf,
  TopicRecreatedError,
} from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { OnTopicRecreated } from '../../model/states/on-topic-recreated.js';
import { isHeldStart } from '../commits/commit-metadata-format.js';
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
  /** Number of partitions that a recreated topic had when this session noticed it, by topic id. */
  readonly #sizes = new Map<string, number>();

  /** Returns whether the topic has another id than before. Remembers an id that is new. */
  isAnother(topic: string, id: string | null): boolean {
    if (id === null) return false;
    const known = this.#ids.get(topic);
    if (known === undefined) this.#ids.set(topic, id);
    return known !== undefined && known !== id;
  }

  /**
   * Returns the number of partitions that the topic had when this session noticed it. Partitions
   * beyond that number were added later.
   */
  firstSize(id: string | null, size: number): number {
    if (id === null) return size;
    const first = this.#sizes.get(id) ?? size;
    this.#sizes.set(id, first);
    return first;
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
  /** Resolves with the offset after the last record of each partition, by partition. */
  endsOf(topic: string): Promise<ReadonlyMap<number, number>>;
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
  /** The ids of the topics that lanes read. */
  readonly #idOf = new WeakMap<PartitionLane, string | null>();

  constructor(private readonly parts: RecreatedTopicsParts) {}

  /** Called after lanes were added for assigned partitions, before a record of them is read. */
  onAssigned(partitions: readonly AssignedPartition[]): void {
    const { knownIds, topics, lanes, topicIdOf } = this.parts;
    const recreated = new Set(
      topics.filter((topic) => knownIds.isAnother(topic, topicIdOf(topic))),
    );
    for (const topic of recreated) void this.#rememberSize(topic);
    for (const { topic, partition, committed } of partitions) {
      const lane = lanes.get(topic, partition);
      if (!lane) continue;
      this.#idOf.set(lane, topicIdOf(topic));
      if (recreated.has(topic) && !isBegun(committed)) this.#holdAtStart(lane);
    }
  }

  /** Called when a lane continues at another offset of the log that `former` has read. */
  onReset(former: PartitionLane, lane: PartitionLane): void {
    this.#idOf.set(lane, this.#idOf.get(former) ?? null);
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

  /**
   * Holds a lane that has read nothing of the new topic. Its start position is committed as held at
   * once, which replaces the commit of the driver with offsetReset 'latest'. The next owner would
   * take that commit for a position that a member has reached.
   */
  #holdAtStart(lane: PartitionLane): void {
    const { committer, pauser, logger } = this.parts;
    const error = this.errorOf(lane);
    const { topic, partition } = lane;
    lane.commitHeldStart();
    committer.request(lane);
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
  async #startOf({ topic, partition, name }: PartitionLane): Promise<number | undefined> {
    const { policy, knownIds, topicIdOf, logger } = this.parts;
    if (policy !== 'latest') return 0;
    try {
      const ends = await this.parts.endsOf(topic);
      const end = ends.get(partition);
      if (end === undefined) throw new Error('The metadata do not name the partition yet.');
      const isAdded = partition >= knownIds.firstSize(topicIdOf(topic), ends.size);
      return isAdded ? 0 : end;
    } catch (error) {
      logger.warn('The end of a recreated topic could not be looked up: trying again', {
        partition: name,
        reason: errorReasonOf(error),
      });
      return undefined;
    }
  }

  /** Remembers how many partitions the new topic has, before more are added. */
  async #rememberSize(topic: string): Promise<void> {
    const { policy, knownIds, topicIdOf } = this.parts;
    if (policy !== 'latest') return;
    const id = topicIdOf(topic);
    try {
      knownIds.firstSize(id, (await this.parts.endsOf(topic)).size);
    } catch {
      // The lookup of the start position follows, and tells its error.
    }
  }

  #canReplace(lane: PartitionLane): boolean {
    return this.parts.lanes.owns(lane) && !this.parts.drain.isDraining(lane);
  }
}

/** Returns whether a member has begun to read. A start that was committed as held is no beginning. */
function isBegun(committed: CommittedOffset | null): boolean {
  return committed !== null && !isHeldStart(committed.metadata);
}
