import type { ProducerStamp } from '../../../records/index.js';

/** As a broker gives it: the epoch is raised by us, per partition; in transactions, by their coordinator alone. */
export interface ProducerIdentity extends Omit<ProducerStamp, 'baseSequence'> {
  readonly transactional?: boolean;
}

/** What a batch carries of its producer. */
export type BatchStamp = ProducerIdentity & ProducerStamp;

const SEQUENCES = 2 ** 31;
const LAST_EPOCH = 32_767;

/**
 * Where a partition stands in the sequence by which its leader tells a repetition from the next
 * batch. Every partition counts for itself, and has an epoch of its own: the log of each keeps
 * its own account of a producer, so trouble in one is nothing to the others.
 */
export class PartitionSequence {
  #identity: ProducerIdentity | undefined;
  #next = 0;
  #renounced: bigint | undefined;

  get isBegun(): boolean {
    return this.#identity !== undefined;
  }

  /** Whether it counts for this producer in this epoch. */
  isOf({ producerId, producerEpoch }: ProducerIdentity): boolean {
    return (
      this.#identity?.producerId === producerId && this.#identity.producerEpoch === producerEpoch
    );
  }

  get isTransactional(): boolean {
    return this.#identity?.transactional === true;
  }

  /** What the next batch is stamped with; undefined before `begin`. */
  get stamp(): BatchStamp | undefined {
    return this.#identity && { ...this.#identity, baseSequence: this.#next };
  }

  /** This partition has done with the id: `begin` needs another one. */
  accepts({ producerId }: ProducerIdentity): boolean {
    return producerId !== this.#renounced;
  }

  begin(identity: ProducerIdentity): void {
    this.#identity = identity;
    this.#next = 0;
  }

  written(count: number): void {
    this.#next = (this.#next + count) % SEQUENCES;
  }

  /**
   * Nobody knows whether the latest sequence numbers are used up, or the broker lost count. In a
   * new epoch counting starts at 0, and whatever of the old one still wanders through the network
   * is refused as soon as the first batch of the new one is written. A transaction has no other
   * epoch: there this is the end.
   */
  restart(): void {
    if (this.#identity === undefined) return;
    const { producerId, producerEpoch } = this.#identity;
    if (producerEpoch >= LAST_EPOCH || this.isTransactional) this.renounce();
    else this.begin({ producerId, producerEpoch: producerEpoch + 1 });
  }

  /** The id is of no use any more, in any epoch. */
  renounce(): void {
    this.#renounced = this.#identity?.producerId ?? this.#renounced;
    this.#identity = undefined;
  }
}
