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
 * One chunk being delivered and one in reserve, so that the next fetch runs while records are
 * handled.
 */
const CHUNKS_AHEAD = 2;

/**
 * A partition during one assignment. Another assignment of it is another object, so nothing of the
 * earlier one can affect it.
 */
export class OwnedPartition implements TopicPartition {
  /** True between `onAssigned` and `onRevoked`. */
  deliverable = false;
  paused = false;
  /** Number of commits since the assignment, without those that failed. */
  commitCount = 0;
  stopReason: PartitionError | undefined;
  /** Time of the monotonic clock before which the partition is not fetched. */
  backoffUntil = 0;
  /** Offset at which the last fetch without waiting found nothing. */
  lastEmptyOffset = -1;
  /** Rises with every seek and drop. A response to a request of an older version is discarded. */
  positionVersion = 0;
  /** Leader epochs of the delivered records. */
  readonly trail = new LeaderEpochHistory();
  readonly preferredReplica = new PreferredReplica();
  readonly #removal = new AbortController();
  #fetchOffset = -1;
  #chunks: FetchedChunk[] = [];
  /** Position version of the request that is under way. */
  #requestedVersion = -1;
  /** Epoch of the leader whose log is known to contain the delivered records. */
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
   * Binds the offsets to the topic with this id, also if the topic was created again. Null means
   * unknown and changes nothing: the topic may still be the same.
   */
  setTopicId(topicId: string | null): void {
    if (topicId === null || this.currentTopicId === topicId) return;
    const isAnother = this.currentTopicId !== null;
    this.currentTopicId = topicId;
    if (isAnother) this.trail.startAt(0, -1);
  }

  /** Offset of the next record to be delivered; -1 while it is unknown. */
  get position(): number {
    return this.#chunks[0]?.reader.position ?? this.#fetchOffset;
  }

  get fetchOffset(): number {
    return this.#fetchOffset;
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
   * Marks the partition as part of a request. Returns the position version that the response must
   * belong to.
   */
  markRequested(): number {
    this.#requestedVersion = this.positionVersion;
    return this.positionVersion;
  }

  /** Marks that request as ended, whether it succeeded or failed. */
  markAnswered(requestedVersion: number): void {
    if (this.#requestedVersion === requestedVersion) this.#requestedVersion = -1;
  }

  /**
   * Returns whether the partition needs a fetch. After a seek it does not wait for the request of
   * the old position, which may be a long poll.
   */
  wantsFetch(now: number): boolean {
    return (
      this.#requestedVersion !== this.positionVersion &&
      !this.paused &&
      this.stopReason === undefined &&
      this.#fetchOffset >= 0 &&
      this.backoffUntil <= now &&
      this.#chunks.length < CHUNKS_AHEAD
    );
  }

  /**
   * Returns whether the leader's log must be checked first. A leader of another epoch may have a
   * shorter log, and the delivered records must be in it.
   */
  needsTruncationCheck(leaderEpoch: number): boolean {
    const { last } = this.trail;
    return last >= 0 && last !== leaderEpoch && this.#checkedEpoch !== leaderEpoch;
  }

  markTruncationChecked(leaderEpoch: number): void {
    this.#checkedEpoch = leaderEpoch;
  }

  /**
   * Sets the position. `leaderEpoch` is the epoch of the record before the offset; without it, the
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
   * Takes records from the first chunk. Throws what the reader throws; the position then stays at
   * the unreadable record.
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

  /** Drops records that were fetched ahead. They are fetched again. */
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

/** Returns whether the delivered records say nothing about the log that is there now. */
function concernsAnotherLog(error: PartitionError | undefined): boolean {
  return error instanceof LogTruncatedError || error instanceof TopicRecreatedError;
}
