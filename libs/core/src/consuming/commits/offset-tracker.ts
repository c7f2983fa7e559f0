/** Offsets that are done, or not in the log: `from` is the first of them, `to` the first behind them. */
export interface OffsetRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Knows of one assignment of one partition which records are unfinished. The watermark is the
 * first of them: what may be committed as the next offset to read. Offsets that are missing from
 * the log (compacted, control records) were never received and so block nothing.
 */
export class OffsetTracker {
  /** In ascending order; those before `#head` are finished. */
  #unfinished: number[] = [];
  #head = 0;
  #next: number;
  /** What is done from `#next` on, since it was before a rewind, or in an earlier assignment. Ascending, apart. */
  #completedAhead: OffsetRange[] = [];
  /** Behind the last one that was done before its turn. */
  #completedUpTo = 0;

  constructor(start: number) {
    this.#next = start;
  }

  /** The offset that is received next, or the first one above it that the log has. */
  get next(): number {
    return this.#next;
  }

  get watermark(): number {
    const first = this.#unfinished[this.#head];
    return first !== undefined && first < this.#next ? first : this.#next;
  }

  get unfinished(): number {
    return this.#unfinished.length - this.#head;
  }

  /** How far the last record that is done lies beyond the first that is not. */
  get distanceBeyondGap(): number {
    return Math.max(this.#completedUpTo - this.watermark, 0);
  }

  /** What is done beyond the watermark. */
  completedBeyondGap(): readonly OffsetRange[] {
    const end = this.#completedUpTo;
    const { watermark } = this;
    if (end <= watermark) return [];
    return [
      ...this.#completedBetween(watermark, Math.min(this.#next, end)),
      ...this.#completedAhead,
    ]
      .filter(({ from }) => from < end)
      .map(({ from, to }) => ({ from, to: Math.min(to, end) }));
  }

  /** These are done, by somebody's word: they are not received. They lie beyond what was. */
  markCompleted(ranges: readonly OffsetRange[]): void {
    this.#completedAhead = [...ranges];
    this.#completedUpTo = ranges.at(-1)?.to ?? 0;
    this.#skipCompleted();
  }

  /** From here on nothing is done, whatever somebody said. Nothing was received there yet. */
  unmarkFrom(offset: number): void {
    this.#completedAhead = this.#completedAhead
      .filter(({ from }) => from < offset)
      .map(({ from, to }) => ({ from, to: Math.min(to, offset) }));
    this.#next = Math.min(this.#next, offset);
    this.#completedUpTo = Math.min(this.#completedUpTo, offset);
  }

  /** False for a record that is at work or done already: it must not be handed out again. */
  receive(offset: number): boolean {
    if (offset < this.#next) return false;
    const isDone = this.#completedAhead.length > 0 && this.#isCompletedAhead(offset);
    this.#next = offset + 1;
    if (this.#completedAhead.length > 0) this.#skipCompleted();
    return !isDone && this.#addUnfinished(offset);
  }

  /** The driver stands here: what lies before and was not received is not in the log. */
  advanceTo(position: number): void {
    if (position <= this.#next) return;
    this.#next = position;
    if (this.#completedAhead.length > 0) this.#skipCompleted();
  }

  complete(offset: number): void {
    if (this.#unfinished[this.#head] === offset) this.#removeFirst();
    else this.#remove(offset);
    // Those behind are what is read again, after a rewind.
    if (offset >= this.#next) this.#addCompletedAhead(offset);
  }

  /** The records from here on are received again, except those that are done and those that are `atWork`. */
  rewindTo(offset: number, atWork: ReadonlySet<number> = NO_OFFSETS): void {
    if (offset < this.#next) {
      this.#completedAhead = [
        ...this.#completedBetween(offset, this.#next),
        ...this.#completedAhead,
      ];
      this.#next = offset;
    }
    const kept = this.#unfinished.slice(this.#indexOf(offset)).filter((each) => atWork.has(each));
    this.#unfinished.length = this.#indexOf(offset);
    this.#unfinished.push(...kept);
    this.#skipCompleted();
  }

  #addUnfinished(offset: number): boolean {
    const last = this.#unfinished.at(-1);
    if (last === undefined || last < offset) {
      this.#unfinished.push(offset);
      return true;
    }
    const index = this.#indexOf(offset);
    if (this.#unfinished[index] === offset) return false;
    this.#unfinished.splice(index, 0, offset);
    return true;
  }

  #removeFirst(): void {
    this.#head++;
    if (this.#head === this.#unfinished.length) {
      this.#unfinished.length = 0;
      this.#head = 0;
    } else if (this.#head >= COMPACT_AFTER) {
      this.#unfinished = this.#unfinished.slice(this.#head);
      this.#head = 0;
    }
  }

  #remove(offset: number): void {
    const index = this.#indexOf(offset);
    if (this.#unfinished[index] !== offset) return;
    this.#unfinished.splice(index, 1);
    this.#completedUpTo = Math.max(this.#completedUpTo, offset + 1);
  }

  #isCompletedAhead(offset: number): boolean {
    return this.#completedAhead.some(({ from, to }) => from <= offset && offset < to);
  }

  #addCompletedAhead(offset: number): void {
    if (this.#isCompletedAhead(offset)) return;
    this.#completedUpTo = Math.max(this.#completedUpTo, offset + 1);
    const before = this.#completedAhead.filter(({ to }) => to <= offset);
    const behind = this.#completedAhead.slice(before.length);
    const [left, right] = [before.at(-1), behind[0]];
    const from = left?.to === offset ? (before.pop() as OffsetRange).from : offset;
    const to = right?.from === offset + 1 ? (behind.shift() as OffsetRange).to : offset + 1;
    this.#completedAhead = [...before, { from, to }, ...behind];
    this.#skipCompleted();
  }

  /** What is received next is not done. */
  #skipCompleted(): void {
    let first = this.#completedAhead[0];
    while (first && first.from <= this.#next) {
      this.#next = Math.max(this.#next, first.to);
      this.#completedAhead.shift();
      first = this.#completedAhead[0];
    }
  }

  /** All that was received there and is not unfinished. */
  #completedBetween(from: number, to: number): OffsetRange[] {
    const ranges: OffsetRange[] = [];
    let start = from;
    for (let index = this.#indexOf(from); index < this.#unfinished.length; index++) {
      const offset = this.#unfinished[index] as number;
      if (offset >= to) break;
      if (start < offset) ranges.push({ from: start, to: offset });
      start = offset + 1;
    }
    if (start < to) ranges.push({ from: start, to });
    return ranges;
  }

  /** Of the first unfinished record at or behind this offset. */
  #indexOf(offset: number): number {
    let [low, high] = [this.#head, this.#unfinished.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#unfinished[middle] as number) < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const NO_OFFSETS: ReadonlySet<number> = new Set();

/** Cutting the finished ones off costs a copy of the rest: worth it now and then only. */
const COMPACT_AFTER = 1_024;
