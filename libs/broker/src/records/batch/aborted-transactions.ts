/** One entry of a fetch response's list: this producer's transaction began here and was aborted. */
export interface AbortedTransaction {
  /** All 64 bits. */
  readonly producerId: bigint;
  readonly firstOffset: number;
}

/** What the end marker of a transaction says. */
export type ControlType = 'abort' | 'commit';

/**
 * Tells of each transactional batch of one fetch response whether its transaction was aborted.
 * The batches must be shown in the order of the log. The list may be unsorted (Redpanda's is), its
 * transactions may overlap, and some began before the fetch offset.
 */
export class AbortedTransactions {
  private readonly pending: readonly AbortedTransaction[];
  private begun = 0;
  private readonly aborted = new Set<bigint>();

  constructor(list: readonly AbortedTransaction[]) {
    this.pending = list.toSorted((a, b) => a.firstOffset - b.firstOffset);
  }

  /** Whether a transactional batch of records that ends at `lastOffset` must be left out. */
  isAborted(producerId: bigint, lastOffset: number): boolean {
    this.beginUpTo(lastOffset);
    return this.aborted.has(producerId);
  }

  /** The producer's transaction ends here; its next one is another entry of the list. */
  end(producerId: bigint, lastOffset: number, type: ControlType): void {
    this.beginUpTo(lastOffset);
    if (type === 'abort') this.aborted.delete(producerId);
  }

  /** An entry counts from the batch on that holds its first offset, hence the batch's last offset. */
  private beginUpTo(lastOffset: number): void {
    for (; this.begun < this.pending.length; this.begun++) {
      const next = this.pending[this.begun];
      if (next === undefined || next.firstOffset > lastOffset) return;
      this.aborted.add(next.producerId);
    }
  }
}
