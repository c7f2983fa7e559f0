import {
  LogTruncatedError,
  TopicRecreatedError,
  type PartitionError,
} from '../../../port/errors.js';
import type { BrokerRecord, TopicPartition } from '../../../port/record.js';
import { LeaderEpochHistory, type RecordBatchReader } from '../../../records/index.js';

/**
 * A partition during one assignment. A new assignment of it uses a new object, so that results of
 * the old one have no effect.
 */
export class OwnedPartition implements TopicPartition {
  readonly topic: string;
  readonly partition: number;
  /** True between `onAssigned` and the end of the assignment: records are returned. */
  isServed = false;
  /** The number of commits during this assignment, except failed ones. */
  commits = 0;
  /** The topic id; empty until `startAt`. */
  topicId = '';
  stopped: PartitionError | undefined;
  /** True while an error of the partition is being analysed: it is not fetched. */
  isSuspended = false;
  /** The leader epochs of the returned records. */
  readonly epochs = new LeaderEpochHistory();
  #position = -1;
  #reader: RecordBatchReader | undefined;
  readonly #released = new AbortController();

  constructor({ topic, partition }: TopicPartition) {
    this.topic = topic;
    this.partition = partition;
  }

  /** Aborts when the partition is revoked or lost. */
  get released(): AbortSignal {
    return this.#released.signal;
  }

  /** Ends the delivery of records. */
  release(): void {
    this.isServed = false;
    this.#released.abort(new Error('The partition was revoked or lost.'));
  }

  /** Sets topic id and start position. An earlier seek takes precedence. */
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

  /** Drops the fetched records; they are fetched again from the position. */
  dropFetched(): void {
    this.#position = this.position;
    this.#reader = undefined;
  }

  /** Returns records; throws if the next record cannot be read. */
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
