import type { ProducerStamp } from '../../../records/index.js';

/**
 * The producer id and epoch that a broker has assigned. Without transactions this client increases
 * the epoch per partition. In transactions only the coordinator increases it.
 */
export interface ProducerIdentity extends Omit<ProducerStamp, 'baseSequence'> {
  readonly transactional?: boolean;
}

/** The producer fields that are written into a batch. */
export type BatchStamp = ProducerIdentity & ProducerStamp;

const SEQUENCES = 2 ** 31;
const LAST_EPOCH = 32_767;

/**
 * The sequence numbers of a partition, by which its leader recognises a duplicate batch. Each
 * partition has its own sequence and epoch, because a leader keeps the state of a producer per
 * partition. An error in one partition therefore does not affect the others.
 */
export class PartitionSequence {
  #identity: ProducerIdentity | undefined;
  #next = 0;
  #discardedId: bigint | undefined;

  get hasStarted(): boolean {
    return this.#identity !== undefined;
  }

  /** Returns true if the sequence uses this producer id and epoch. */
  belongsTo({ producerId, producerEpoch }: ProducerIdentity): boolean {
    return (
      this.#identity?.producerId === producerId && this.#identity.producerEpoch === producerEpoch
    );
  }

  get isTransactional(): boolean {
    return this.#identity?.transactional === true;
  }

  /** The stamp of the next batch; undefined before `begin`. */
  get stamp(): BatchStamp | undefined {
    return this.#identity && { ...this.#identity, baseSequence: this.#next };
  }

  /** Returns false if the partition has discarded this producer id and needs another one. */
  accepts({ producerId }: ProducerIdentity): boolean {
    return producerId !== this.#discardedId;
  }

  begin(identity: ProducerIdentity): void {
    this.#identity = identity;
    this.#next = 0;
  }

  advance(count: number): void {
    this.#next = (this.#next + count) % SEQUENCES;
  }

  /**
   * Restarts the sequence at 0 in a new epoch, because the latest numbers may be used or the broker
   * has lost its state. As soon as the first batch of the new epoch is written, the broker refuses
   * delayed requests of the old one. In a transaction the epoch cannot change, so the producer id
   * is discarded.
   */
  restart(): void {
    if (this.#identity === undefined) return;
    const { producerId, producerEpoch } = this.#identity;
    if (producerEpoch >= LAST_EPOCH || this.isTransactional) this.discardProducerId();
    else this.begin({ producerId, producerEpoch: producerEpoch + 1 });
  }

  /** Discards the producer id, because it cannot be used in any epoch. */
  discardProducerId(): void {
    this.#discardedId = this.#identity?.producerId ?? this.#discardedId;
    this.#identity = undefined;
  }
}
