/** Offsets that are done, or not in the log: `from` is the first of them, `to` the first behind them. */
export interface Run {
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
  #known: Run[] = [];
  /** Behind the last one that was done before its turn. */
  #doneUpTo = 0;

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
  get reachBeyondGap(): number {
    return Math.max(this.#doneUpTo - this.watermark, 0);
  }

  /** What is done beyond the watermark. */
  doneBeyondGap(): readonly Run[] {
    const end = this.#doneUpTo;
    const { watermark } = this;
    if (end <= watermark) return [];
    return [...this.#doneBetween(watermark, Math.min(this.#next, end)), ...this.#known]
      .filter(({ from }) => from < end)
      .map(({ from, to }) => ({ from, to: Math.min(to, end) }));
  }

  /** These are done, by somebody's word: they are not received. They lie beyond what was. */
  know(runs: readonly Run[]): void {
    this.#known = [...runs];
    this.#doneUpTo = runs.at(-1)?.to ?? 0;
    this.#passKnown();
  }

  /** From here on nothing is done, whatever somebody said. Nothing was received there yet. */
  forget(offset: number): void {
    this.#known = this.#known
      .filter(({ from }) => from < offset)
      .map(({ from, to }) => ({ from, to: Math.min(to, offset) }));
    this.#next = Math.min(this.#next, offset);
    this.#doneUpTo = Math.min(this.#doneUpTo, offset);
  }

  /** False for a record that is at work or done already: it must not be handed out again. */
  receive(offset: number): boolean {
    if (offset < this.#next) return false;
    const isDone = this.#known.length > 0 && this.#isKnown(offset);
    this.#next = offset + 1;
    if (this.#known.length > 0) this.#passKnown();
    return !isDone && this.#take(offset);
  }

  /** The driver stands here: what lies before and was not received is not in the log. */
  reach(position: number): void {
    if (position <= this.#next) return;
    this.#next = position;
    if (this.#known.length > 0) this.#passKnown();
  }

  complete(offset: number): void {
    if (this.#unfinished[this.#head] === offset) this.#advance();
    else this.#remove(offset);
    // Those behind are what is read again, after a rewind.
    if (offset >= this.#next) this.#learn(offset);
  }

  /** The records from here on are received again, except those that are done and those that are `atWork`. */
  rewindTo(offset: number, atWork: ReadonlySet<number> = NOBODY): void {
    if (offset < this.#next) {
      this.#known = [...this.#doneBetween(offset, this.#next), ...this.#known];
      this.#next = offset;
    }
    const kept = this.#unfinished.slice(this.#indexOf(offset)).filter((each) => atWork.has(each));
    this.#unfinished.length = this.#indexOf(offset);
    this.#unfinished.push(...kept);
    this.#passKnown();
  }

  #take(offset: number): boolean {
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

  #advance(): void {
    this.#head++;
    if (this.#head === this.#unfinished.length) {
      this.#unfinished.length = 0;
      this.#head = 0;
    } else if (this.#head >= FINISHED_KEPT) {
      this.#unfinished = this.#unfinished.slice(this.#head);
      this.#head = 0;
    }
  }

  #remove(offset: number): void {
    const index = this.#indexOf(offset);
    if (this.#unfinished[index] !== offset) return;
    this.#unfinished.splice(index, 1);
    this.#doneUpTo = Math.max(this.#doneUpTo, offset + 1);
  }

  #isKnown(offset: number): boolean {
    return this.#known.some(({ from, to }) => from <= offset && offset < to);
  }

  #learn(offset: number): void {
    if (this.#isKnown(offset)) return;
    this.#doneUpTo = Math.max(this.#doneUpTo, offset + 1);
    const before = this.#known.filter(({ to }) => to <= offset);
    const behind = this.#known.slice(before.length);
    const [left, right] = [before.at(-1), behind[0]];
    const from = left?.to === offset ? (before.pop() as Run).from : offset;
    const to = right?.from === offset + 1 ? (behind.shift() as Run).to : offset + 1;
    this.#known = [...before, { from, to }, ...behind];
    this.#passKnown();
  }

  /** What is received next is not done. */
  #passKnown(): void {
    let first = this.#known[0];
    while (first && first.from <= this.#next) {
      this.#next = Math.max(this.#next, first.to);
      this.#known.shift();
      first = this.#known[0];
    }
  }

  /** All that was received there and is not unfinished. */
  #doneBetween(from: number, to: number): Run[] {
    const runs: Run[] = [];
    let start = from;
    for (let index = this.#indexOf(from); index < this.#unfinished.length; index++) {
      const offset = this.#unfinished[index] as number;
      if (offset >= to) break;
      if (start < offset) runs.push({ from: start, to: offset });
      start = offset + 1;
    }
    if (start < to) runs.push({ from: start, to });
    return runs;
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

const NOBODY: ReadonlySet<number> = new Set();

/** Cutting the finished ones off costs a copy of the rest: worth it now and then only. */
const FINISHED_KEPT = 1_024;
