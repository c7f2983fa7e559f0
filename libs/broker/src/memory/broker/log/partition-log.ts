import { placeBatch } from '../../../records/index.js';
import { describeBatch, type StoredBatch } from './stored-batch.js';

export interface AbortedTransaction {
  readonly producerId: number;
  readonly firstOffset: number;
}

interface EndedByAbort extends AbortedTransaction {
  readonly markerOffset: number;
}

/** The batches of one partition, in the order of their offsets, and the transactions that are open in it. */
export class PartitionLog {
  #batches: StoredBatch[] = [];
  #bytes = 0;
  #low = 0;
  #high = 0;
  readonly #openTransactions = new Map<number, number>();
  #aborted: EndedByAbort[] = [];
  /** Where each leader epoch that has records begins. */
  #epochs: { readonly epoch: number; readonly start: number }[] = [];

  get low(): number {
    return this.#low;
  }

  get high(): number {
    return this.#high;
  }

  /** Nothing at or behind it is handed to readers of committed records: its fate is open. */
  get lastStable(): number {
    return Math.min(this.#high, ...this.#openTransactions.values());
  }

  /** Takes the bytes over: the caller has copied them from the request. */
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

  /** Called with the marker's batch once it is in the log. */
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

  /** Whole batches from the one that holds `offset`, while they fit; with `oneAtLeast` the first always. */
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

  /** Every aborted transaction that has records in the range, those begun before it included. */
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

  /** Old batches first, and never past one that must stay. */
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

  /** What an unclean leader election does: the end of the log is gone. */
  truncate(offset: number): void {
    const kept = this.#batches.filter(({ lastOffset }) => lastOffset < offset);
    this.#batches = kept;
    this.#bytes = kept.reduce((sum, { bytes }) => sum + bytes.length, 0);
    this.#high = Math.max(this.#low, (kept.at(-1)?.lastOffset ?? this.#low - 1) + 1);
    this.#epochs = this.#epochs.filter(({ start }) => start < this.#high);
    for (const [producerId, firstOffset] of this.#openTransactions)
      if (firstOffset >= this.#high) this.#openTransactions.delete(producerId);
  }

  /** KIP-320: the last offset of this epoch + 1, or of the latest epoch before it that has records. */
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

  /** Of the first batch that ends at or behind the offset. */
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
