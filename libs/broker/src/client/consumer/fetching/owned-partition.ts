import {
  LogTruncatedError,
  TopicRecreatedError,
  type PartitionError,
} from '../../../port/errors.js';
import type { BrokerRecord, TopicPartition } from '../../../port/record.js';
import { EpochTrail, type RecordBatchReader } from '../../../records/index.js';
import { NearbyReplica } from './nearby-replica.js';

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
  commits = 0;
  stopped: PartitionError | undefined;
  /** Not asked for again before this moment of the monotonic clock. */
  restUntil = 0;
  /** Where a fetch without waiting last found nothing. */
  emptyAt = -1;
  /** Rises with every seek: an answer to an older question is dropped. */
  journey = 0;
  /** Who wrote what was handed out. */
  readonly trail = new EpochTrail();
  readonly nearby = new NearbyReplica();
  readonly #leaving = new AbortController();
  #fetchOffset = -1;
  #chunks: FetchedChunk[] = [];
  /** The journey of the request under way that asks for it. */
  #askedOn = -1;
  /** The epoch of the leader whose log was found to hold what was read. */
  #checkedIn = -1;

  constructor(
    readonly topic: string,
    readonly partition: number,
    private ownTopicId: string | null,
  ) {}

  /** Of the topic that its offsets belong to; null where the broker has no ids. */
  get topicId(): string | null {
    return this.ownTopicId;
  }

  /** Offsets are from now on those of the topic as it is now, also where it was created again. One that is unknown at the moment may be the same. */
  adopt(topicId: string | null): void {
    if (topicId === null || this.ownTopicId === topicId) return;
    const isAnother = this.ownTopicId !== null;
    this.ownTopicId = topicId;
    if (isAnother) this.trail.begin(0, -1);
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
  get leaving(): AbortSignal {
    return this.#leaving.signal;
  }

  /** No further record of it is handed out. */
  leave(): void {
    this.deliverable = false;
    this.#leaving.abort(new Error('The partition is handed back or lost.'));
  }

  get ready(): boolean {
    return this.deliverable && !this.paused && this.#chunks.length > 0;
  }

  /** A request takes it along; gives the journey that its answer must be of. */
  ask(): number {
    this.#askedOn = this.journey;
    return this.journey;
  }

  /** That request has ended, one way or another. */
  answered(journey: number): void {
    if (this.#askedOn === journey) this.#askedOn = -1;
  }

  /** One that was sought meanwhile does not wait for the answer to its old question: that may be a long poll. */
  wantsFetch(now: number): boolean {
    return (
      this.#askedOn !== this.journey &&
      !this.paused &&
      this.stopped === undefined &&
      this.#fetchOffset >= 0 &&
      this.restUntil <= now &&
      this.#chunks.length < CHUNKS_AHEAD
    );
  }

  /** A leader of another epoch may have a shorter log: what was read must be in it before more is. */
  mustBeChecked(leaderEpoch: number): boolean {
    const { last } = this.trail;
    return last >= 0 && last !== leaderEpoch && this.#checkedIn !== leaderEpoch;
  }

  checked(leaderEpoch: number): void {
    this.#checkedIn = leaderEpoch;
  }

  /** `leaderEpoch` is that of what stands before the offset; without it, what was read before may tell. */
  moveTo(offset: number, leaderEpoch = -1): void {
    const wasRead = offset <= this.position && !isAboutAnotherLog(this.stopped);
    if (leaderEpoch < 0 && wasRead) this.trail.cutTo(offset);
    else this.trail.begin(offset, leaderEpoch);
    this.dropChunks();
    this.journey++;
    this.#fetchOffset = offset;
    this.#checkedIn = -1;
    this.stopped = undefined;
    this.restUntil = 0;
    this.emptyAt = -1;
  }

  add(chunk: FetchedChunk): void {
    this.#chunks.push(chunk);
    this.#fetchOffset = chunk.end;
  }

  /** Throws what the reader throws; the partition then stands at the trouble. */
  take(max: number, maxBytes: number): readonly BrokerRecord[] {
    const chunk = this.#chunks[0];
    if (!chunk) return [];
    const { position } = chunk.reader;
    const records = chunk.reader.next(max, maxBytes);
    this.trail.follow(position, records, chunk.reader.leaderEpoch);
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
    this.journey++;
  }

  stop(error: PartitionError): void {
    this.dropChunks();
    this.stopped = error;
  }
}

/** What was read before tells nothing about the log that is there now. */
function isAboutAnotherLog(error: PartitionError | undefined): boolean {
  return error instanceof LogTruncatedError || error instanceof TopicRecreatedError;
}
