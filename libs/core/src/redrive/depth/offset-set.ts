/** Offsets as ranges, so that a million neighbours need no more memory than one. */
export class OffsetSet {
  /** Ascending, disjoint and not adjacent; `to` is the offset after the last. */
  #ranges: { from: number; to: number }[] = [];

  /** Adds the offsets from `from` to `to` (exclusive). */
  add(from: number, to = from + 1): void {
    if (from >= to) return;
    const start = this.#indexOf(from);
    let end = start;
    const joined = { from, to };
    for (let range = this.#ranges[end]; range && range.from <= to; range = this.#ranges[++end]) {
      joined.from = Math.min(joined.from, range.from);
      joined.to = Math.max(joined.to, range.to);
    }
    this.#ranges.splice(start, end - start, joined);
  }

  remove(offset: number): void {
    const index = this.#indexOf(offset + 1);
    const range = this.#ranges[index];
    if (!range || offset < range.from || offset >= range.to) return;
    const rest = [
      { from: range.from, to: offset },
      { from: offset + 1, to: range.to },
    ];
    this.#ranges.splice(index, 1, ...rest.filter(({ from, to }) => from < to));
  }

  has(offset: number): boolean {
    return this.endOfRangeAt(offset) > offset;
  }

  /** Returns the first offset from `offset` on that is not in the set. */
  endOfRangeAt(offset: number): number {
    const range = this.#ranges[this.#indexOf(offset + 1)];
    return range && range.from <= offset && offset < range.to ? range.to : offset;
  }

  /** Returns the first offset from `offset` on that is in the set; Infinity if there is none. */
  firstFrom(offset: number): number {
    const range = this.#ranges[this.#indexOf(offset + 1)];
    return range ? Math.max(offset, range.from) : Infinity;
  }

  /** Forgets all offsets below `offset`. */
  dropBefore(offset: number): void {
    this.#ranges = this.#ranges
      .filter(({ to }) => to > offset)
      .map(({ from, to }) => ({ from: Math.max(from, offset), to }));
  }

  get size(): number {
    return this.#ranges.reduce((sum, { from, to }) => sum + to - from, 0);
  }

  /** Returns the index of the first range that ends at `offset` or later. */
  #indexOf(offset: number): number {
    let low = 0;
    let high = this.#ranges.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#ranges[middle]?.to ?? Infinity) < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
