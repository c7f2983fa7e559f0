/**
 * An entry of the aborted-transaction list of a fetch response: the producer, and the first offset
 * of its transaction.
 */
export interface AbortedTransaction {
  /** The full 64-bit id. */
  readonly producerId: bigint;
  readonly firstOffset: number;
}

/** The kind of end marker of a transaction. */
export type ControlType = 'abort' | 'commit';

/**
 * Decides for each transactional batch of one fetch response whether its transaction was aborted.
 * The batches must be passed in log order. The list may be unsorted (as from Redpanda), its
 * transactions may overlap, and some may have started before the fetch offset.
 */
export class AbortedTransactions {
  private readonly pending: readonly AbortedTransaction[];
  private begun = 0;
  private readonly aborted = new Set<bigint>();

  constructor(list: readonly AbortedTransaction[]) {
    this.pending = list.toSorted((a, b) => a.firstOffset - b.firstOffset);
  }

  /**
   * Returns whether a transactional batch of records that ends at `lastOffset` must be skipped
   * because its transaction was aborted.
   */
  isAborted(producerId: bigint, lastOffset: number): boolean {
    this.beginUpTo(lastOffset);
    return this.aborted.has(producerId);
  }

  /**
   * Ends the current transaction of the producer; its next transaction is another entry of the
   * list.
   */
  end(producerId: bigint, lastOffset: number, type: ControlType): void {
    this.beginUpTo(lastOffset);
    if (type === 'abort') this.aborted.delete(producerId);
  }

  /**
   * Activates all entries up to the last offset of the batch. An entry applies from the batch that
   * contains its first offset.
   */
  private beginUpTo(lastOffset: number): void {
    for (; this.begun < this.pending.length; this.begun++) {
      const next = this.pending[this.begun];
      if (next === undefined || next.firstOffset > lastOffset) return;
      this.aborted.add(next.producerId);
    }
  }
}
