import {
  LogTruncatedError,
  TopicRecreatedError,
  type PartitionError,
} from '../../../port/errors.js';
import type { BrokerRecord, TopicPartition } from '../../../port/record.js';
import { LeaderEpochHistory, type RecordBatchReader } from '../../../records/index.js';
import { PreferredReplica } from './preferred-replica.js';

/** Records of one partition out of one answer. */
export interface FetchedChunk {
  readonly reader: RecordBatchReader;
  /** The offset behind the chunk. */
  readonly end: number;
  /** Gives the chunk's part in its answer back to the budget. */
  release(): void;
}

/** One being handed out and one in reserve: the next fetch is under way while records are handled. */
const CHUNKS_AHEAD = 2;

/** A partition while it is ours. Assigned again, it is another object: nothing of the old life reaches it. */
export class OwnedPartition implements TopicPartition {
  /** Between `onAssigned` and `onRevoked`. */
  deliverable = false;
  paused = false;
  /** Commits of it since it is ours, but those that failed. */
  commitCount = 0;
  stopReason: PartitionError | undefined;
  /** Not asked for again before this moment of the monotonic clock. */
  backoffUntil = 0;
  /** Where a fetch without waiting last found nothing. */
  lastEmptyOffset = -1;
  /** Rises with every seek: an answer to an older question is dropped. */
  positionVersion = 0;
  /** Who wrote what was handed out. */
  readonly trail = new LeaderEpochHistory();
  readonly preferredReplica = new PreferredReplica();
  readonly #removal = new AbortController();
  #fetchOffset = -1;
  #chunks: FetchedChunk[] = [];
  /** The journey of the request under way that asks for it. */
  #requestedVersion = -1;
  /** The epoch of the leader whose log was found to hold what was read. */
  #checkedEpoch = -1;

  constructor(
    readonly topic: string,
    readonly partition: number,
    private currentTopicId: string | null,
  ) {}

  /** Of the topic that its offsets belong to; null where the broker has no ids. */
  get topicId(): string | null {
    return this.currentTopicId;
  }

  /** Offsets are from now on those of the topic as it is now, also where it was created again. One that is unknown at the moment may be the same. */
  setTopicId(topicId: string | null): void {
    if (topicId === null || this.currentTopicId === topicId) return;
    const isAnother = this.currentTopicId !== null;
    this.currentTopicId = topicId;
    if (isAnother) this.trail.startAt(0, -1);
  }

  /** The offset of the next record to be handed out; -1 while it is not known. */
  get position(): number {
    return this.#chunks[0]?.reader.position ?? this.#fetchOffset;
  }

  get fetchOffset(): number {
    return this.#fetchOffset;
  }

  get hasChunks(): boolean {
    return this.#chunks.length > 0;
  }

  /** Aborts once it is handed back or lost: nothing more is found out about it. */
  get removalSignal(): AbortSignal {
    return this.#removal.signal;
  }

  /** No further record of it is handed out. */
  beginRemoval(): void {
    this.deliverable = false;
    this.#removal.abort(new Error('The partition is handed back or lost.'));
  }

  get hasDeliverableRecords(): boolean {
    return this.deliverable && !this.paused && this.#chunks.length > 0;
  }

  /** A request takes it along; gives the journey that its answer must be of. */
  markRequested(): number {
    this.#requestedVersion = this.positionVersion;
    return this.positionVersion;
  }

  /** That request has ended, one way or another. */
  markAnswered(requestedVersion: number): void {
    if (this.#requestedVersion === requestedVersion) this.#requestedVersion = -1;
  }

  /** One that was sought meanwhile does not wait for the answer to its old question: that may be a long poll. */
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

  /** A leader of another epoch may have a shorter log: what was read must be in it before more is. */
  needsTruncationCheck(leaderEpoch: number): boolean {
    const { last } = this.trail;
    return last >= 0 && last !== leaderEpoch && this.#checkedEpoch !== leaderEpoch;
  }

  markTruncationChecked(leaderEpoch: number): void {
    this.#checkedEpoch = leaderEpoch;
  }

  /** `leaderEpoch` is that of what stands before the offset; without it, what was read before may tell. */
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

  /** Throws what the reader throws; the partition then stands at the trouble. */
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

  /** What was fetched ahead is forgotten and will be fetched again. */
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

/** What was read before tells nothing about the log that is there now. */
function concernsAnotherLog(error: PartitionError | undefined): boolean {
  return error instanceof LogTruncatedError || error instanceof TopicRecreatedError;
}
