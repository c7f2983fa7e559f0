import type { BrokerRecord } from '../../port/record.js';

/** Records from this offset on were written by the leader of this epoch. */
interface EpochStart {
  readonly epoch: number;
  readonly start: number;
}

/**
 * Epochs increase with elections: far fewer than this lie between two offsets at which a log may be
 * truncated.
 */
const MAX_ENTRIES = 64;

/**
 * Remembers which leader epochs wrote the records up to the position. After an election it shows
 * where the new leader's log diverges from what was read (KIP-320): an epoch that only this
 * consumer has seen is not in the leader's log.
 */
export class LeaderEpochHistory {
  #entries: EpochStart[] = [];

  /** The epoch of the record before the position; -1 when unknown. */
  get last(): number {
    return this.#entries.at(-1)?.epoch ?? -1;
  }

  /** Returns the epoch of the record before the offset; -1 when unknown. */
  epochBefore(offset: number): number {
    return this.#entries.findLast(({ start }) => start < offset)?.epoch ?? -1;
  }

  /** Restarts at another position, of which only the epoch of the preceding record is known. */
  startAt(position: number, epoch: number): void {
    this.#entries = epoch < 0 ? [] : [{ epoch, start: position }];
  }

  /**
   * Adds the epochs of records that were read from `position` on. `epoch` belongs to the last
   * batch, which may contain no records.
   */
  append(position: number, records: readonly BrokerRecord[], epoch: number): void {
    const first = records[0];
    let next = position;
    // The records of a batch have one epoch, and it rarely differs from the previous one.
    if (first && (first.leaderEpoch !== this.last || records.at(-1)?.leaderEpoch !== this.last))
      for (const record of records) {
        this.#add(record.leaderEpoch, next);
        next = record.offset + 1;
      }
    this.#add(epoch, (records.at(-1)?.offset ?? position - 1) + 1);
  }

  /** Moves back to an earlier position. */
  truncateTo(position: number): void {
    this.#entries = this.#entries.filter(({ start }) => start <= position);
  }

  /**
   * Returns the last epoch up to `epoch` that wrote a record that was read; -1 if none is known.
   */
  lastUpTo(epoch: number): number {
    return this.#entries.findLast((step) => step.epoch <= epoch)?.epoch ?? -1;
  }

  /**
   * Returns the offset up to which the leader's log matches, if its part up to `epoch` ends at
   * `end`.
   */
  commonEnd(epoch: number, end: number): number {
    const foreign = this.#entries.find((step) => step.epoch > epoch);
    return foreign ? Math.min(end, foreign.start) : end;
  }

  #add(epoch: number, start: number): void {
    if (epoch < 0 || epoch === this.last) return;
    this.#entries.push({ epoch, start });
    if (this.#entries.length > MAX_ENTRIES) this.#entries.shift();
  }
}
