import { errorReasonOf } from '../../../port/error-text.js';
import {
  BrokerError,
  ClosedError,
  UnknownPartitionError,
  UnknownTopicError,
} from '../../../port/errors.js';
import type { OutgoingRecord } from '../../../port/record.js';
import { Backoff, type Timer } from '../../../runtime/index.js';
import { describeCode, errorOfCode } from '../../../wire/index.js';
import { METADATA_MAX_AGE_MS } from '../../../wire/cluster/metadata.js';
import { PendingRecords, type Blocker } from './pending-records.js';
import { partitionOfKey } from '../../../records/index.js';
import { PartitionQueue, type MemoryBudget } from './partition-queue.js';
import type { SendCall } from '../send-call.js';
import { RETRY_BACKOFF, type SenderContext } from '../sender-context.js';
import { StickyPartitioner } from './sticky-partitioner.js';

const UNKNOWN_TOPIC_OR_PARTITION = 3;

/** A topic with the queues of its partitions, and with the records that wait for its metadata. */
export class ProducerTopic implements Blocker {
  readonly sticky: StickyPartitioner;
  readonly #queues: (PartitionQueue | undefined)[] = [];
  readonly #backoff: Backoff;
  #partitionCount = 0;
  #pending: PendingRecords[] = [];
  #isLoading = false;
  #retry: Timer | undefined;
  /** The time at which the latest successful metadata request of this topic was sent. */
  #loadedAt = Number.NEGATIVE_INFINITY;
  #freshUntil = Number.NEGATIVE_INFINITY;
  #lastError: Error | undefined;

  constructor(
    readonly name: string,
    private readonly context: SenderContext,
    private readonly memory: MemoryBudget,
    private readonly onReady: (pending: readonly PendingRecords[]) => void,
  ) {
    const { runtime } = context.cluster;
    this.sticky = new StickyPartitioner(runtime, context.options.batchBytes);
    this.#backoff = new Backoff(runtime, RETRY_BACKOFF);
  }

  /**
   * Updates the partition count from the cluster's metadata, which other sessions refresh as well.
   */
  syncWithMetadata(): void {
    const known = this.context.cluster.metadata.topic(this.name);
    this.#partitionCount = known?.code === 0 ? known.partitions.length : 0;
    const now = this.context.cluster.runtime.monotonic();
    if (now < this.#freshUntil || this.#partitionCount === 0) return;
    this.#freshUntil = now + METADATA_MAX_AGE_MS;
    // Refreshes the metadata regularly, because partitions may be added to a topic, and keys then
    // belong to other partitions.
    this.context.cluster.metadata
      .load([this.name])
      .catch((error: Error) => this.#logRefreshFailure(error));
  }

  /**
   * Returns the queue for the record, or undefined if metadata are missing. Throws if the partition
   * does not exist.
   */
  queueFor(call: SendCall, record: OutgoingRecord): PartitionQueue | undefined {
    if (this.#partitionCount === 0) return undefined;
    const { partition, key } = record;
    if (partition !== undefined) return this.#queueOfPartition(call, partition);
    if (key !== undefined && key !== null)
      return this.#queue(partitionOfKey(key, this.#partitionCount));
    return this.#queue(this.sticky.partition(this.#partitionCount, this.#canSendTo));
  }

  /** Keeps the record until the metadata of the topic arrive. */
  holdBack(call: SendCall, index: number): void {
    const last = this.#pending.at(-1);
    if (last?.call === call) last.add(index);
    else this.#pending.push(new PendingRecords(call, this, [index]));
    if (!this.#isLoading) void this.#loadMetadata();
  }

  timeoutError(call: SendCall): Error {
    if (this.#lastError) return this.#lastError;
    return new UnknownTopicError(
      this.name,
      `The metadata of topic "${this.name}" could not be loaded within ${call.timing.timeoutMs} ms. Check that the brokers can be reached.`,
    );
  }

  stop(): void {
    this.#retry?.cancel();
    this.#pending = [];
  }

  readonly #canSendTo = (partition: number): boolean =>
    this.context.cluster.metadata.leader(this.name, partition) !== undefined &&
    this.#queues[partition]?.state !== 'retrying';

  #queue(partition: number): PartitionQueue {
    return (this.#queues[partition] ??= new PartitionQueue(
      this.name,
      partition,
      this.context,
      this.memory,
    ));
  }

  #queueOfPartition(call: SendCall, partition: number): PartitionQueue | undefined {
    if (Number.isInteger(partition) && partition >= 0) {
      if (partition < this.#partitionCount) return this.#queue(partition);
      if (this.#loadedAt < call.timing.startedAt) return undefined;
    }
    throw new UnknownPartitionError(
      { topic: this.name, partition },
      `Topic "${this.name}" has no partition ${partition}: it has ${this.#partitionCount}, counted from 0. Choose one of these, or leave the partition out.`,
    );
  }

  async #loadMetadata(): Promise<void> {
    this.#isLoading = true;
    const askedAt = this.context.cluster.runtime.monotonic();
    const error = await this.#refresh(askedAt);
    if (error instanceof ClosedError) return this.context.onClusterClosed(error);
    this.#lastError = error;
    this.syncWithMetadata();
    this.#isLoading = false;
    if (error !== undefined) return this.#retryOrFail(error);
    this.#backoff.reset();
    const pending = this.#pending;
    this.#pending = [];
    this.onReady(pending);
  }

  async #refresh(askedAt: number): Promise<Error | undefined> {
    try {
      await this.context.cluster.metadata.refresh([this.name]);
    } catch (error) {
      return error as Error;
    }
    this.#loadedAt = askedAt;
    return this.#topicError();
  }

  #retryOrFail(error: Error): void {
    const isFinal = error instanceof BrokerError && !error.retriable;
    for (const records of this.#pending)
      if (isFinal || this.#hasWaitedTooLong(records.call, error)) records.abandon(error);
    this.#pending = this.#pending.filter(({ isEmpty }) => !isEmpty);
    if (this.#pending.length === 0) return;
    this.#isLoading = true;
    this.#retry = this.context.cluster.runtime.setTimer(
      () => void this.#loadMetadata(),
      this.#backoff.next(),
    );
  }

  /** Counts only after the brokers have answered that there is no such topic. */
  #hasWaitedTooLong({ timing }: SendCall, error: Error): boolean {
    const { cluster, options } = this.context;
    const waitedMs = cluster.runtime.monotonic() - timing.startedAt;
    return error instanceof UnknownTopicError && waitedMs >= options.missingTopicTimeoutMs;
  }

  #topicError(): Error | undefined {
    const code = this.context.cluster.metadata.topic(this.name)?.code;
    if (code === 0) return undefined;
    if (code === undefined || code === UNKNOWN_TOPIC_OR_PARTITION)
      return new UnknownTopicError(this.name, undefined, { brokerCode: code });
    const { retriable } = describeCode(code);
    const advice = retriable ? '' : 'Check the topic name and what the credentials allow.';
    return errorOfCode(code, `Asking for topic "${this.name}"`, advice);
  }

  #logRefreshFailure(error: Error): void {
    this.context.logger.warn(`Refreshing the metadata of topic "${this.name}" failed`, {
      topic: this.name,
      error: errorReasonOf(error),
    });
  }
}
