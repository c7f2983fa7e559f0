interface Stretch {
  readonly from: number;
  readonly epoch: number;
}

/** In which leader epoch the records of a partition were written, so that a commit can name that of the last one done. */
export class LeaderEpochs {
  #stretches: Stretch[];

  /** `epoch` is what the group committed; -1 when unknown. */
  constructor(epoch: number) {
    this.#stretches = [{ from: -1, epoch }];
  }

  note(offset: number, epoch: number): void {
    let last = this.#stretches.at(-1);
    while (last && last.from > offset) {
      this.#stretches.pop();
      last = this.#stretches.at(-1);
    }
    if (last?.epoch !== epoch) this.#stretches.push({ from: offset, epoch });
  }

  /** The epoch in which the record at this offset was written, as far as is known. */
  at(offset: number): number {
    return this.#stretches.findLast(({ from }) => from <= offset)?.epoch ?? -1;
  }

  /** The epoch of the last record before this offset. */
  before(offset: number): number {
    const index = this.#stretches.findLastIndex(({ from }) => from < offset);
    if (index > 0) this.#stretches = this.#stretches.slice(index);
    return this.#stretches[0]?.epoch ?? -1;
  }
}
