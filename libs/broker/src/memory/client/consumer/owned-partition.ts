import {
  LogTruncatedError,
  TopicRecreatedError,
  type PartitionError,
} from '../../../port/errors.js';
import type { BrokerRecord, TopicPartition } from '../../../port/record.js';
import { LeaderEpochHistory, type RecordBatchReader } from '../../../records/index.js';

/** One partition while it is ours. Assigned again, it is another object: nothing of the old life reaches it. */
export class OwnedPartition implements TopicPartition {
  readonly topic: string;
  readonly partition: number;
  /** Between `onAssigned` and the end of our time with it: its records are handed out. */
  isServed = false;
  /** Commits of it since it is ours, but those that failed. */
  commits = 0;
  /** Empty until `begin`. */
  topicId = '';
  stopped: PartitionError | undefined;
  /** Not asked for while something about it is being found out. */
  isSuspended = false;
  /** Who wrote what was handed out. */
  readonly epochs = new LeaderEpochHistory();
  #position = -1;
  #reader: RecordBatchReader | undefined;
  readonly #released = new AbortController();

  constructor({ topic, partition }: TopicPartition) {
    this.topic = topic;
    this.partition = partition;
  }

  /** Aborts once it is handed back or lost. */
  get released(): AbortSignal {
    return this.#released.signal;
  }

  /** No further record of it is handed out. */
  release(): void {
    this.isServed = false;
    this.#released.abort(new Error('The partition is handed back or lost.'));
  }

  /** Where reading starts, and in which topic. A seek that came before wins. */
  startAt(topicId: string, position: number, lastEpoch: number): void {
    this.topicId = topicId;
    if (this.#position !== -1) return;
    this.#position = position;
    this.epochs.startAt(position, lastEpoch);
  }

  get position(): number {
    return this.#reader?.position ?? this.#position;
  }

  get hasRecords(): boolean {
    return this.isServed && this.#reader !== undefined && this.stopped === undefined;
  }

  get wantsRecords(): boolean {
    return (
      this.isServed && this.#reader === undefined && this.stopped === undefined && !this.isSuspended
    );
  }

  moveTo(offset: number): void {
    const isAnotherLog =
      this.stopped instanceof LogTruncatedError || this.stopped instanceof TopicRecreatedError;
    if (offset <= this.position && !isAnotherLog) this.epochs.truncateTo(offset);
    else this.epochs.startAt(offset, -1);
    this.#reader = undefined;
    this.#position = offset;
    this.stopped = undefined;
  }

  buffer(reader: RecordBatchReader): void {
    this.#reader = reader;
  }

  stop(error: PartitionError): void {
    this.#position = this.position;
    this.#reader = undefined;
    this.stopped = error;
  }

  /** Drops what was fetched; it is fetched again from where it stands. */
  dropFetched(): void {
    this.#position = this.position;
    this.#reader = undefined;
  }

  /** Throws what makes the next record unreadable. */
  take(max: number, maxBytes: number): readonly BrokerRecord[] {
    const reader = this.#reader;
    if (!reader) return [];
    const { position } = reader;
    const records = reader.next(max, maxBytes);
    this.epochs.append(position, records, reader.leaderEpoch);
    if (reader.done) this.dropFetched();
    return records;
  }
}
