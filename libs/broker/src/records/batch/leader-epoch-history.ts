import type { BrokerRecord } from '../../port/record.js';

/** Records from this offset on were written by the leader of this epoch. */
interface EpochStart {
  readonly epoch: number;
  readonly start: number;
}

/**
 * The maximum number of entries. Epochs increase only with elections, so a log is practically never
 * truncated below that many epochs.
 */
const MAX_ENTRIES = 64;

/**
 * Stores which leader epochs wrote the records up to the position. After an election it shows where
 * the new leader's log diverges from the records that were read (KIP-320). An epoch that only this
 * consumer knows is not in the leader's log.
 */
export class LeaderEpochHistory {
  #entries: EpochStart[] = [];

  /** The epoch of the record before the position; -1 if it is unknown. */
  get last(): number {
    return this.#entries.at(-1)?.epoch ?? -1;
  }

  /** Returns the epoch of the record before the offset; -1 if it is unknown. */
  epochBefore(offset: number): number {
    const entries = this.#entries;
    let index = entries.length - 1;
    while (index >= 0 && (entries[index] as EpochStart).start >= offset) index--;
    return entries[index]?.epoch ?? -1;
  }

  /** Restarts at another position. Only the epoch of the record before it is known. */
  startAt(position: number, epoch: number): void {
    this.#entries = epoch < 0 ? [] : [{ epoch, start: position }];
  }

  /**
   * Adds the epochs of records that were read from `position` on. `epoch` belongs to the last
   * batch, which may contain no records.
   */
  append(position: number, records: readonly BrokerRecord[], epoch: number): void {
    const last = this.last;
    const [first, newest] = [records[0], records.at(-1)];
    // Records of a batch have the same epoch, which rarely differs from the previous one.
    if (epoch === last && (!first || (first.leaderEpoch === last && newest?.leaderEpoch === last)))
      return;
    let next = position;
    for (const record of records) {
      this.#add(record.leaderEpoch, next);
      next = record.offset + 1;
    }
    this.#add(epoch, (newest?.offset ?? position - 1) + 1);
  }

  /** Moves back to an earlier position and drops later entries. */
  truncateTo(position: number): void {
    this.#entries = this.#entries.filter(({ start }) => start <= position);
  }

  /**
   * Returns the last epoch that is not after `epoch` and wrote a record that was read; -1 if there
   * is none.
   */
  lastUpTo(epoch: number): number {
    return this.#entries.findLast((step) => step.epoch <= epoch)?.epoch ?? -1;
  }

  /**
   * Returns the offset up to which the leader's log contains the records that were read, if the
   * leader's part up to `epoch` ends at `end`.
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
