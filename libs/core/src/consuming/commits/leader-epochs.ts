interface EpochStart {
  readonly from: number;
  readonly epoch: number;
}

/** In which leader epoch the records of a partition were written, so that a commit can name that of the last one done. */
export class LeaderEpochs {
  #starts: EpochStart[];

  /** `epoch` is what the group committed; -1 when unknown. */
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

  /** The epoch in which the record at this offset was written, as far as is known. */
  at(offset: number): number {
    return this.#starts.findLast(({ from }) => from <= offset)?.epoch ?? -1;
  }

  /** The epoch of the last record before this offset. */
  before(offset: number): number {
    const index = this.#starts.findLastIndex(({ from }) => from < offset);
    if (index > 0) this.#starts = this.#starts.slice(index);
    return this.#starts[0]?.epoch ?? -1;
  }
}
