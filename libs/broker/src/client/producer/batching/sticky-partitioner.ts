import type { Runtime } from '../../../runtime/index.js';

/**
 * Chooses the partition of records without a key: the same partition until a batch is full, then
 * another random one. The choice is made once per record, so a batch that is sent again stays in
 * its partition.
 */
export class StickyPartitioner {
  /** The bytes of the records without a key since the choice. A full batch ends the choice. */
  bytes = 0;
  #current = -1;

  constructor(
    private readonly runtime: Runtime,
    private readonly batchBytes: number,
  ) {}

  /**
   * Returns the partition for the next record. `isGood` returns whether a partition can be sent to
   * at the moment.
   */
  partition(count: number, isGood: (partition: number) => boolean): number {
    const isSpent = this.#current < 0 || this.#current >= count || this.bytes >= this.batchBytes;
    if (isSpent || !isGood(this.#current)) this.#choose(count, isGood);
    return this.#current;
  }

  /**
   * Chooses a partition that can be sent to, if there is one, and if possible another one than the
   * current partition.
   */
  #choose(count: number, isGood: (partition: number) => boolean): void {
    const all = Array.from({ length: count }, (_, partition) => partition);
    const good = all.filter(isGood);
    const possible = good.length > 0 ? good : all;
    const others = possible.filter((partition) => partition !== this.#current);
    const pool = others.length > 0 ? others : possible;
    this.#current = pool[Math.floor(this.runtime.random() * pool.length)] ?? 0;
    this.bytes = 0;
  }
}
