interface EpochStart {
  readonly from: number;
  readonly epoch: number;
}

/**
 * Remembers in which leader epoch the records of a partition were written, so that a commit can
 * name the epoch of the last completed record.
 */
export class LeaderEpochs {
  #starts: EpochStart[];

  /** `epoch` is the leader epoch of the committed offset; -1 if it is unknown. */
  constructor(epoch: number) {
    this.#starts = [{ from: -1, epoch }];
  }

  note(offset: number, epoch: number): void {
    let last = this.#starts.at(-1);
    while (last && last.from > offset) {
      this.#starts.pop();
      last = this.#starts.at(-1);
    }
    if (last?.epoch !== epoch) this.#starts.push({ from: offset, epoch });
  }

  /** Returns the epoch in which the record at this offset was written; -1 if it is unknown. */
  at(offset: number): number {
    return this.#starts.findLast(({ from }) => from <= offset)?.epoch ?? -1;
  }

  /** Returns the epoch of the last record before this offset; -1 if it is unknown. */
  before(offset: number): number {
    let index = this.#starts.length - 1;
    while (index > 0 && (this.#starts[index] as EpochStart).from >= offset) index--;
    if (index > 0) this.#starts = this.#starts.slice(index);
    return this.#starts[0]?.epoch ?? -1;
  }
}
