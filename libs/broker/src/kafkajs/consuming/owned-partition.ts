import type { PartitionError } from '../../port/errors.js';
import type { BrokerRecord, TopicPartition } from '../../port/record.js';
import type { RecordBatchReader } from '../../records/index.js';

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
  stopped: PartitionError | undefined;
  /** Not asked for again before this moment of the monotonic clock. */
  restUntil = 0;
  /** Where a fetch without waiting last found nothing. */
  emptyAt = -1;
  /** Rises with every seek: an answer to an older question is dropped. */
  journey = 0;
  /** The leader epoch of the last record handed out. */
  leaderEpoch = -1;
  readonly #leaving = new AbortController();
  #fetchOffset = -1;
  #chunks: FetchedChunk[] = [];
  /** The journey of the request under way that asks for it. */
  #askedOn = -1;

  constructor(
    readonly topic: string,
    readonly partition: number,
    /** Of the topic that its offsets belong to; null where the broker has no ids. */
    public topicId: string | null,
  ) {}

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

  moveTo(offset: number): void {
    this.dropChunks();
    this.journey++;
    this.#fetchOffset = offset;
    this.stopped = undefined;
    this.restUntil = 0;
    this.emptyAt = -1;
  }

  add(chunk: FetchedChunk): void {
    this.#chunks.push(chunk);
    this.#fetchOffset = chunk.end;
  }

  /** Throws what the reader throws; the partition then stands at the trouble. */
  take(max: number): readonly BrokerRecord[] {
    const chunk = this.#chunks[0];
    if (!chunk) return [];
    const records = chunk.reader.next(max);
    this.leaderEpoch = chunk.reader.leaderEpoch;
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
