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
import { Arrival, type Obstacle } from './pending-records.js';
import { partitionOfKey } from './key-partition.js';
import type { MemoryBudget } from './memory-budget.js';
import { PartitionQueue } from './partition-queue.js';
import type { SendCall } from '../send-call.js';
import { RETRY_BACKOFF, type SenderContext } from '../sender-options.js';
import { StickyChoice } from './sticky-choice.js';

const UNKNOWN_TOPIC_OR_PARTITION = 3;

/** What a sender knows of a topic: its partitions, and the records that wait until they are known. */
export class TopicEntry implements Obstacle {
  readonly #queues: (PartitionQueue | undefined)[] = [];
  readonly #sticky: StickyChoice;
  readonly #backoff: Backoff;
  #partitionCount = 0;
  #room: Arrival[] = [];
  #isAsking = false;
  #retry: Timer | undefined;
  /** When the latest answer that we asked for was asked for. */
  #askedAt = Number.NEGATIVE_INFINITY;
  #freshUntil = Number.NEGATIVE_INFINITY;
  #trouble: Error | undefined;

  constructor(
    readonly name: string,
    private readonly context: SenderContext,
    private readonly memory: MemoryBudget,
    private readonly onReady: (arrivals: readonly Arrival[]) => void,
  ) {
    const { runtime } = context.cluster;
    this.#sticky = new StickyChoice(runtime, context.options.batchBytes);
    this.#backoff = new Backoff(runtime, RETRY_BACKOFF);
  }

  get isKnown(): boolean {
    return this.#partitionCount > 0;
  }

  /** Takes over what the cluster's metadata say by now; others ask for them too. */
  look(): void {
    const known = this.context.cluster.metadata.topic(this.name);
    this.#partitionCount = known?.code === 0 ? known.partitions.length : 0;
    const now = this.context.cluster.runtime.monotonic();
    if (now < this.#freshUntil || !this.isKnown) return;
    this.#freshUntil = now + METADATA_MAX_AGE_MS;
    // Partitions may be added to a topic at any time: keys then belong elsewhere.
    this.context.cluster.metadata
      .load([this.name])
      .catch((error: Error) => this.#log('refreshing', error));
  }

  /** The queue that takes the record; undefined while more must be known. Throws when there is none. */
  queueFor(call: SendCall, record: OutgoingRecord): PartitionQueue | undefined {
    if (!this.isKnown) return undefined;
    const { partition, key } = record;
    if (partition !== undefined) return this.#explicit(call, partition);
    if (key !== undefined && key !== null)
      return this.#queue(partitionOfKey(key, this.#partitionCount));
    return this.#queue(this.#sticky.partition(this.#partitionCount, this.#isGood));
  }

  /** A keyless record of so many bytes went where `queueFor` said. */
  stuck(bytes: number): void {
    this.#sticky.add(bytes);
  }

  /** Keeps the record until more is known of the topic. */
  keep(call: SendCall, index: number): void {
    const last = this.#room.at(-1);
    if (last?.call === call) last.add(index);
    else this.#room.push(new Arrival(call, this, [index]));
    if (!this.#isAsking) void this.#ask();
  }

  explain(call: SendCall): Error {
    if (this.#trouble) return this.#trouble;
    return new UnknownTopicError(
      this.name,
      `Nothing could be learnt about topic "${this.name}" within ${call.clock.timeoutMs} ms. Check that the brokers can be reached.`,
    );
  }

  stop(): void {
    this.#retry?.cancel();
    this.#room = [];
  }

  readonly #isGood = (partition: number): boolean =>
    this.context.cluster.metadata.leader(this.name, partition) !== undefined &&
    this.#queues[partition]?.state !== 'recovering';

  #queue(partition: number): PartitionQueue {
    return (this.#queues[partition] ??= new PartitionQueue(
      this.name,
      partition,
      this.context,
      this.memory,
    ));
  }

  #explicit(call: SendCall, partition: number): PartitionQueue | undefined {
    if (Number.isInteger(partition) && partition >= 0) {
      if (partition < this.#partitionCount) return this.#queue(partition);
      if (this.#askedAt < call.clock.startedAt) return undefined;
    }
    throw new UnknownPartitionError(
      { topic: this.name, partition },
      `Topic "${this.name}" has no partition ${partition}: it has ${this.#partitionCount}, counted from 0.`,
    );
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    const askedAt = this.context.cluster.runtime.monotonic();
    const trouble = await this.#refresh(askedAt);
    if (trouble instanceof ClosedError) return this.context.onClusterClosed(trouble);
    this.#trouble = trouble;
    this.look();
    this.#isAsking = false;
    if (trouble === undefined) this.#open();
    else this.#waitOrRefuse(trouble);
  }

  async #refresh(askedAt: number): Promise<Error | undefined> {
    try {
      await this.context.cluster.metadata.refresh([this.name]);
    } catch (error) {
      return error as Error;
    }
    this.#askedAt = askedAt;
    return this.#troubleOfTopic();
  }

  #open(): void {
    const arrivals = this.#room;
    this.#room = [];
    this.#backoff.reset();
    this.#trouble = undefined;
    this.onReady(arrivals);
  }

  #waitOrRefuse(trouble: Error): void {
    const isFinal = trouble instanceof BrokerError && !trouble.retriable;
    if (isFinal) for (const arrival of this.#room) arrival.giveUp(trouble);
    this.#room = this.#room.filter(({ isEmpty }) => !isEmpty);
    if (this.#room.length === 0) return;
    this.#isAsking = true;
    this.#retry = this.context.cluster.runtime.setTimer(
      () => void this.#ask(),
      this.#backoff.next(),
    );
  }

  #troubleOfTopic(): Error | undefined {
    const code = this.context.cluster.metadata.topic(this.name)?.code;
    if (code === 0) return undefined;
    if (code === undefined || code === UNKNOWN_TOPIC_OR_PARTITION)
      return new UnknownTopicError(this.name, undefined, { brokerCode: code });
    const { retriable } = describeCode(code);
    const advice = retriable ? '' : 'Check the topic name and what the credentials allow.';
    return errorOfCode(code, `Asking for topic "${this.name}"`, advice);
  }

  #log(doing: string, error: Error): void {
    this.context.logger.warn(`${doing} the metadata of topic "${this.name}" failed`, {
      topic: this.name,
      error: error.message,
    });
  }
}
