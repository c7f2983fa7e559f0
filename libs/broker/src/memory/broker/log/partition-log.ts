import { placeBatch } from '../../../records/index.js';
import { describeBatch, type StoredBatch } from './stored-batch.js';

export interface AbortedTransaction {
  readonly producerId: number;
  readonly firstOffset: number;
}

interface EndedByAbort extends AbortedTransaction {
  readonly markerOffset: number;
}

/** The batches of one partition in offset order, and its open transactions. */
export class PartitionLog {
  #batches: StoredBatch[] = [];
  #bytes = 0;
  #low = 0;
  #high = 0;
  readonly #openTransactions = new Map<number, number>();
  #aborted: EndedByAbort[] = [];
  /** The start offset of each leader epoch that has records. */
  #epochs: { readonly epoch: number; readonly start: number }[] = [];

  get low(): number {
    return this.#low;
  }

  get high(): number {
    return this.#high;
  }

  /**
   * The last stable offset. Readers of committed records get nothing from this offset on, because
   * the outcome of a transaction is open.
   */
  get lastStable(): number {
    return Math.min(this.#high, ...this.#openTransactions.values());
  }

  /** Appends the bytes without a copy: the caller has copied them from the request. */
  append(bytes: Buffer, leaderEpoch: number, logAppendTime?: number): StoredBatch {
    placeBatch(bytes, { baseOffset: this.#high, leaderEpoch, logAppendTime });
    const batch = describeBatch(bytes);
    this.#batches.push(batch);
    if (this.#epochs.at(-1)?.epoch !== leaderEpoch)
      this.#epochs.push({ epoch: leaderEpoch, start: batch.baseOffset });
    this.#bytes += bytes.length;
    this.#high = batch.lastOffset + 1;
    if (batch.transactional && !batch.control && !this.#openTransactions.has(batch.producerId))
      this.#openTransactions.set(batch.producerId, batch.baseOffset);
    return batch;
  }

  /** Ends a transaction after the batch of its marker was appended. */
  endTransaction(marker: StoredBatch, outcome: 'commit' | 'abort'): void {
    const firstOffset = this.#openTransactions.get(marker.producerId);
    this.#openTransactions.delete(marker.producerId);
    if (outcome === 'abort' && firstOffset !== undefined)
      this.#aborted.push({
        producerId: marker.producerId,
        firstOffset,
        markerOffset: marker.baseOffset,
      });
  }

  /**
   * Returns whole batches from the one that contains `offset`, up to `maxBytes`; with `oneAtLeast`
   * always the first one.
   */
  read(offset: number, maxBytes: number, end: number, oneAtLeast: boolean): readonly StoredBatch[] {
    const found: StoredBatch[] = [];
    let bytes = 0;
    for (let index = this.#indexOf(offset); index < this.#batches.length; index++) {
      const batch = this.#batches[index];
      if (!batch || batch.baseOffset >= end) break;
      bytes += batch.bytes.length;
      if (bytes > maxBytes && !(oneAtLeast && found.length === 0)) break;
      found.push(batch);
    }
    return found;
  }

  /**
   * Returns the aborted transactions with records in the range, including those that started before
   * it.
   */
  abortedBetween(from: number, to: number): readonly AbortedTransaction[] {
    return this.#aborted
      .filter(({ firstOffset, markerOffset }) => markerOffset >= from && firstOffset < to)
      .map(({ producerId, firstOffset }) => ({ producerId, firstOffset }));
  }

  batchesFrom(offset: number): readonly StoredBatch[] {
    return this.#batches.slice(this.#indexOf(offset));
  }

  deleteBefore(offset: number): void {
    if (offset <= this.#low) return;
    this.#low = offset;
    this.#dropFirst(this.#indexOf(offset));
    this.#aborted = this.#aborted.filter(({ markerOffset }) => markerOffset >= offset);
  }

  /** Deletes expired batches from the start of the log, up to the first one that must stay. */
  expire(olderThan: number, retainedBytes: number): void {
    let bytes = this.#bytes;
    let expired: StoredBatch | undefined;
    for (const batch of this.#batches) {
      const tooOld = batch.maxTimestamp < olderThan;
      if (!tooOld && bytes <= retainedBytes) break;
      expired = batch;
      bytes -= batch.bytes.length;
    }
    if (expired) this.deleteBefore(expired.lastOffset + 1);
  }

  /** Removes the end of the log, as an unclean leader election does. */
  truncate(offset: number): void {
    const kept = this.#batches.filter(({ lastOffset }) => lastOffset < offset);
    this.#batches = kept;
    this.#bytes = kept.reduce((sum, { bytes }) => sum + bytes.length, 0);
    this.#high = Math.max(this.#low, (kept.at(-1)?.lastOffset ?? this.#low - 1) + 1);
    this.#epochs = this.#epochs.filter(({ start }) => start < this.#high);
    for (const [producerId, firstOffset] of this.#openTransactions)
      if (firstOffset >= this.#high) this.#openTransactions.delete(producerId);
  }

  /**
   * Returns the last offset + 1 of this epoch, or of the latest earlier epoch that has records
   * (KIP-320).
   */
  endOfEpoch(wanted: number): { readonly epoch: number; readonly end: number } | undefined {
    const index = this.#epochs.findLastIndex(({ epoch }) => epoch <= wanted);
    const found = this.#epochs[index];
    return found && { epoch: found.epoch, end: this.#epochs[index + 1]?.start ?? this.#high };
  }

  #dropFirst(count: number): void {
    if (count === 0) return;
    for (const { bytes } of this.#batches.slice(0, count)) this.#bytes -= bytes.length;
    this.#batches = this.#batches.slice(count);
  }

  /** Returns the index of the first batch that ends at or after the offset. */
  #indexOf(offset: number): number {
    let from = 0;
    let to = this.#batches.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#batches[middle]?.lastOffset ?? 0) < offset) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
