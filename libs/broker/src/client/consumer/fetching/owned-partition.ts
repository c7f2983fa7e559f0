import {
  LogTruncatedError,
  TopicRecreatedError,
  type PartitionError,
} from '../../../port/errors.js';
import type { BrokerRecord, TopicPartition } from '../../../port/record.js';
import { LeaderEpochHistory, type RecordBatchReader } from '../../../records/index.js';
import { PreferredReplica } from './preferred-replica.js';

/** Records of one partition from one response. */
export interface FetchedChunk {
  readonly reader: RecordBatchReader;
  /** The offset after the last record of the chunk. */
  readonly end: number;
  /** Releases the chunk's part of the memory budget. */
  release(): void;
}

/**
 * A partition during one assignment. Another assignment of the same partition has its own object,
 * so that results of the earlier assignment cannot affect it.
 */
export class OwnedPartition implements TopicPartition {
  /** True between `onAssigned` and `onRevoked`. */
  deliverable = false;
  paused = false;
  /** The number of commits since the assignment, without failed ones. */
  commitCount = 0;
  stopReason: PartitionError | undefined;
  /** The time of the monotonic clock until which the partition is not fetched. */
  backoffUntil = 0;
  /** The offset at which the last fetch that did not wait found no records. */
  lastEmptyOffset = -1;
  /**
   * Increases when a seek or a drop changes the position. A response to a request with an older
   * version is discarded.
   */
  positionVersion = 0;
  /** Leader epochs of the delivered records. */
  readonly trail = new LeaderEpochHistory();
  readonly preferredReplica = new PreferredReplica();
  readonly #removal = new AbortController();
  #fetchOffset = -1;
  #chunks: FetchedChunk[] = [];
  /** The position version of the request that is under way; -1 if no request is. */
  #requestedVersion = -1;
  /** The epoch of the leader whose log was checked to contain the delivered records. */
  #checkedEpoch = -1;

  constructor(
    readonly topic: string,
    readonly partition: number,
    private currentTopicId: string | null,
  ) {}

  /** Id of the topic that the offsets belong to; null if the broker has no topic ids. */
  get topicId(): string | null {
    return this.currentTopicId;
  }

  /**
   * Sets the id of the topic that the offsets belong to. Another id than before means that the topic
   * was deleted and created again. Null means that the id is unknown, and changes nothing.
   */
  setTopicId(topicId: string | null): void {
    if (topicId === null || this.currentTopicId === topicId) return;
    const isAnother = this.currentTopicId !== null;
    this.currentTopicId = topicId;
    if (isAnother) this.trail.startAt(0, -1);
  }

  /** The offset of the next record to be delivered; -1 while the position is unknown. */
  get position(): number {
    return this.#chunks[0]?.reader.position ?? this.#fetchOffset;
  }

  get fetchOffset(): number {
    return this.#fetchOffset;
  }

  get chunkCount(): number {
    return this.#chunks.length;
  }

  get hasChunks(): boolean {
    return this.#chunks.length > 0;
  }

  /** Aborts when the partition is revoked or lost, so that its lookups end. */
  get removalSignal(): AbortSignal {
    return this.#removal.signal;
  }

  /** Stops the delivery of records and aborts the lookups of this partition. */
  beginRemoval(): void {
    this.deliverable = false;
    this.#removal.abort(new Error('The partition was revoked or lost.'));
  }

  get hasDeliverableRecords(): boolean {
    return this.deliverable && !this.paused && this.#chunks.length > 0;
  }

  /**
   * Marks the partition as part of a request. Returns the position version to compare with when the
   * response arrives.
   */
  markRequested(): number {
    this.#requestedVersion = this.positionVersion;
    return this.positionVersion;
  }

  /** Marks the request with this version as ended, whether it succeeded or failed. */
  markAnswered(requestedVersion: number): void {
    if (this.#requestedVersion === requestedVersion) this.#requestedVersion = -1;
  }

  /**
   * Returns whether a request for the current position is under way. A request for the position
   * before a seek does not count, because it may be a long poll.
   */
  get isRequested(): boolean {
    return this.#requestedVersion === this.positionVersion;
  }

  /**
   * Returns whether the leader's log must be checked before a fetch. A leader of another epoch may
   * have a shorter log, which does not contain all delivered records.
   */
  needsTruncationCheck(leaderEpoch: number): boolean {
    const { last } = this.trail;
    return last >= 0 && last !== leaderEpoch && this.#checkedEpoch !== leaderEpoch;
  }

  markTruncationChecked(leaderEpoch: number): void {
    this.#checkedEpoch = leaderEpoch;
  }

  /**
   * Sets the position. `leaderEpoch` is the epoch of the record before the offset. If it is -1, the
   * epochs of the delivered records are used if they cover the offset.
   */
  moveTo(offset: number, leaderEpoch = -1): void {
    const wasRead = offset <= this.position && !concernsAnotherLog(this.stopReason);
    if (leaderEpoch < 0 && wasRead) this.trail.truncateTo(offset);
    else this.trail.startAt(offset, leaderEpoch);
    this.dropChunks();
    this.positionVersion++;
    this.#fetchOffset = offset;
    this.#checkedEpoch = -1;
    this.stopReason = undefined;
    this.backoffUntil = 0;
    this.lastEmptyOffset = -1;
  }

  addChunk(chunk: FetchedChunk): void {
    this.#chunks.push(chunk);
    this.#fetchOffset = chunk.end;
  }

  /**
   * Takes records from the first chunk. Throws the error of the reader if the next record is
   * unreadable, and the position then stays at that record.
   */
  take(max: number, maxBytes: number): readonly BrokerRecord[] {
    const chunk = this.#chunks[0];
    if (!chunk) return [];
    const { position } = chunk.reader;
    const records = chunk.reader.next(max, maxBytes);
    this.trail.append(position, records, chunk.reader.leaderEpoch);
    if (chunk.reader.done) {
      this.#chunks.shift();
      chunk.release();
    }
    return records;
  }

  /** Drops records that were fetched ahead. The fetcher fetches them again. */
  dropChunks(): void {
    const position = this.position;
    for (const chunk of this.#chunks) chunk.release();
    this.#chunks = [];
    this.#fetchOffset = position;
    this.positionVersion++;
  }

  stop(error: PartitionError): void {
    this.dropChunks();
    this.stopReason = error;
  }
}

/**
 * Returns whether the partition was stopped because its topic was recreated or its log truncated.
 * The epochs of the delivered records then do not apply to the current log.
 */
function concernsAnotherLog(error: PartitionError | undefined): boolean {
  return error instanceof LogTruncatedError || error instanceof TopicRecreatedError;
}
