import type { OffsetCommit } from '../../../port/consumer.js';
import type { TopicPartition } from '../../../port/record.js';
import type { TransactionOutcome } from '../../../port/transaction-lifecycle.js';
import { encodeControlBatch } from '../../../records/index.js';
import type { Runtime, Timer } from '../../../runtime/index.js';
import type { Coordinator, MemberIdentity, RefusedPartition } from '../groups/coordinator.js';
import type { AppendResult, Partition } from '../log/partition.js';
import { Refusal } from '../faults/refusal.js';
import type { Topics } from '../log/topics.js';

export interface ProducerIdentity {
  readonly producerId: number;
  readonly epoch: number;
}

interface EndedTransaction extends ProducerIdentity {
  readonly outcome: TransactionOutcome;
}

interface TransactionalProducer {
  readonly id: string;
  readonly timeoutMs: number;
  producerId: number;
  epoch: number;
  readonly partitions: Set<Partition>;
  readonly groups: Set<string>;
  timer: Timer | undefined;
  /** The last request that ended a transaction. A repetition gets the same answer. */
  lastEnd: EndedTransaction | undefined;
}

const MAX_EPOCH = 32_767;

/**
 * Kafka 4's transactions (transaction.version 2). A partition or group joins the transaction with
 * the first write, and every end raises the producer epoch.
 */
export class Transactions {
  readonly #producers = new Map<string, TransactionalProducer>();
  #nextProducerId = 0;

  constructor(
    private readonly topics: Topics,
    private readonly groups: Coordinator,
    private readonly runtime: Runtime,
    private readonly maxTimeoutMs: number,
  ) {}

  /** Returns an identity for a producer that is only idempotent. */
  newProducer(): ProducerIdentity {
    return { producerId: this.#nextProducerId++, epoch: 0 };
  }

  /**
   * Fences the previous producer of this id and aborts its open transaction. With `current` only
   * that producer gets a new epoch: it is refused after another producer took over the id.
   */
  init(id: string, timeoutMs: number, current?: ProducerIdentity): ProducerIdentity {
    if (timeoutMs > this.maxTimeoutMs)
      throw new Refusal(
        'INVALID_TRANSACTION_TIMEOUT',
        `a transaction timeout of ${timeoutMs} ms is above the broker's ${this.maxTimeoutMs} ms`,
      );
    const known = this.#producers.get(id);
    if (current && !isSameEnd(known?.lastEnd, current))
      this.#requireCurrent(id, current, 'PRODUCER_FENCED');
    if (known) {
      this.#end(known, 'abort');
      known.lastEnd = undefined;
      return { producerId: known.producerId, epoch: known.epoch };
    }
    const identity = this.newProducer();
    this.#producers.set(id, {
      id,
      timeoutMs,
      ...identity,
      partitions: new Set(),
      groups: new Set(),
      timer: undefined,
      lastEnd: undefined,
    });
    return identity;
  }

  append(id: string, producer: ProducerIdentity, to: TopicPartition, batch: Buffer): AppendResult {
    const known = this.#requireCurrent(id, producer, 'INVALID_PRODUCER_EPOCH');
    const partition = this.topics.partitionAtLeader(to);
    const appended = partition.append(batch);
    known.partitions.add(partition);
    this.#begin(known);
    return appended;
  }

  commitOffsets(
    id: string,
    producer: ProducerIdentity,
    member: MemberIdentity,
    offsets: readonly OffsetCommit[],
  ): readonly RefusedPartition[] {
    const known = this.#requireCurrent(id, producer, 'INVALID_PRODUCER_EPOCH');
    const refused = this.groups.prepareCommit(member, producer.producerId, offsets);
    known.groups.add(member.groupId);
    this.#begin(known);
    return refused;
  }

  /** Returns the identity for the next transaction of the producer. */
  end(id: string, producer: ProducerIdentity, outcome: TransactionOutcome): ProducerIdentity {
    const known = this.#require(id);
    if (isSameEnd(known.lastEnd, producer)) {
      if (known.lastEnd?.outcome === outcome) return known;
      throw new Refusal(
        'INVALID_TXN_STATE',
        `the transaction of "${id}" has ended with the other outcome`,
      );
    }
    this.#requireCurrent(id, producer, 'PRODUCER_FENCED');
    if (outcome === 'commit' && !isOngoing(known))
      throw new Refusal('INVALID_TXN_STATE', `"${id}" has no open transaction`);
    this.#end(known, outcome);
    known.lastEnd = { ...producer, outcome };
    return known;
  }

  #begin(producer: TransactionalProducer): void {
    producer.timer ??= this.runtime.setTimer(
      () => {
        producer.lastEnd = undefined;
        this.#end(producer, 'abort');
      },
      producer.timeoutMs,
      { background: true },
    );
  }

  #end(producer: TransactionalProducer, outcome: TransactionOutcome): void {
    producer.timer?.cancel();
    producer.timer = undefined;
    const { producerId } = producer;
    this.#bumpEpoch(producer);
    const epoch = producer.producerId === producerId ? producer.epoch : MAX_EPOCH;
    const marker = {
      producerId: BigInt(producerId),
      producerEpoch: epoch,
      timestamp: this.runtime.now(),
    };
    for (const partition of producer.partitions)
      partition.appendMarker(encodeControlBatch(outcome, marker), epoch, outcome);
    for (const groupId of producer.groups) this.groups.endTransaction(groupId, producerId, outcome);
    producer.partitions.clear();
    producer.groups.clear();
  }

  #bumpEpoch(producer: TransactionalProducer): void {
    if (producer.epoch < MAX_EPOCH - 1) producer.epoch += 1;
    else Object.assign(producer, this.newProducer());
  }

  #requireCurrent(
    id: string,
    { producerId, epoch }: ProducerIdentity,
    whenFenced: 'INVALID_PRODUCER_EPOCH' | 'PRODUCER_FENCED',
  ): TransactionalProducer {
    const known = this.#require(id);
    if (known.producerId !== producerId || known.epoch !== epoch)
      throw new Refusal(whenFenced, `"${id}" is now at epoch ${known.epoch}`);
    return known;
  }

  #require(id: string): TransactionalProducer {
    const known = this.#producers.get(id);
    if (!known)
      throw new Refusal(
        'INVALID_PRODUCER_ID_MAPPING',
        `no producer has the transactional id "${id}"`,
      );
    return known;
  }
}

function isOngoing({ partitions, groups }: TransactionalProducer): boolean {
  return partitions.size > 0 || groups.size > 0;
}

function isSameEnd(
  ended: EndedTransaction | undefined,
  { producerId, epoch }: ProducerIdentity,
): boolean {
  return ended?.producerId === producerId && ended.epoch === epoch;
}
