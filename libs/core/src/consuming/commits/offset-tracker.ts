/**
 * Offsets that are completed or missing from the log: `from` is the first, `to` is the offset after
 * the last.
 */
export interface OffsetRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Tracks which records of one partition are unfinished in one assignment. The watermark is the
 * first unfinished offset, which may be committed as the next offset to read. Offsets that are
 * missing from the log (compacted records, control records) are never received, so they block
 * nothing.
 */
export class OffsetTracker {
  /** Ascending. Entries before `#head` are finished. */
  #unfinished: number[] = [];
  #head = 0;
  #next: number;
  /**
   * Ranges from `#next` on that were completed before a rewind or in an earlier assignment.
   * Ascending and disjoint.
   */
  #completedAhead: OffsetRange[] = [];
  /** The offset after the last record that was completed out of order. */
  #completedUpTo = 0;

  constructor(start: number) {
    this.#next = start;
  }

  /** The offset to receive next. The log may continue at a higher one. */
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

  /** Distance between the watermark and the end of the last completed record. */
  get distanceBeyondGap(): number {
    return Math.max(this.#completedUpTo - this.watermark, 0);
  }

  /** Completed ranges beyond the watermark. */
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

  /**
   * Marks ranges as completed that the commit metadata names. They lie beyond every received
   * record, and `receive` refuses their records.
   */
  markCompleted(ranges: readonly OffsetRange[]): void {
    this.#completedAhead = [...ranges];
    this.#completedUpTo = ranges.at(-1)?.to ?? 0;
    this.#skipCompleted();
  }

  /** Withdraws all marks from this offset on, where nothing was received yet. */
  unmarkFrom(offset: number): void {
    this.#completedAhead = this.#completedAhead
      .filter(({ from }) => from < offset)
      .map(({ from, to }) => ({ from, to: Math.min(to, offset) }));
    this.#next = Math.min(this.#next, offset);
    this.#completedUpTo = Math.min(this.#completedUpTo, offset);
  }

  /** Returns false for a record that is in flight or completed: it must not be handed out again. */
  receive(offset: number): boolean {
    if (offset < this.#next) return false;
    const isDone = this.#completedAhead.length > 0 && this.#isCompletedAhead(offset);
    this.#next = offset + 1;
    if (this.#completedAhead.length > 0) this.#skipCompleted();
    return !isDone && this.#addUnfinished(offset);
  }

  /**
   * Moves to the position of the driver. Offsets below it that were not received are not in the
   * log.
   */
  advanceTo(position: number): void {
    if (position <= this.#next) return;
    this.#next = position;
    if (this.#completedAhead.length > 0) this.#skipCompleted();
  }

  complete(offset: number): void {
    if (this.#unfinished[this.#head] === offset) this.#removeFirst();
    else this.#remove(offset);
    // After a rewind, offsets from `#next` on are read again.
    if (offset >= this.#next) this.#addCompletedAhead(offset);
  }

  /**
   * Rewinds, so that the records from this offset on are received again, except completed records
   * and those `atWork`.
   */
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

  /** Keeps the invariant that the next offset is never inside a completed range. */
  #skipCompleted(): void {
    let first = this.#completedAhead[0];
    while (first && first.from <= this.#next) {
      this.#next = Math.max(this.#next, first.to);
      this.#completedAhead.shift();
      first = this.#completedAhead[0];
    }
  }

  /** Ranges between these offsets that were received and are not unfinished. */
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

  /** Returns the index of the first unfinished record at or after this offset. */
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

/** Compaction copies the rest of the array, so it only runs after this many finished records. */
const COMPACT_AFTER = 1_024;
