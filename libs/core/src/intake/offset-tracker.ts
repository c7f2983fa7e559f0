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
  /** Finished behind one that is not: they are not handed out again after a rewind. */
  readonly #doneAhead = new Set<number>();

  constructor(start: number) {
    this.#next = start;
  }

  /** The offset that is received next, or the first one above it that the log has. */
  get next(): number {
    return this.#next;
  }

  get watermark(): number {
    return this.#unfinished[this.#head] ?? this.#next;
  }

  get unfinished(): number {
    return this.#unfinished.length - this.#head;
  }

  /** False for a record that is at work or done already: it must not be handed out again. */
  receive(offset: number): boolean {
    if (offset < this.#next) return false;
    this.#next = offset + 1;
    if (this.#doneAhead.size > 0 && this.#doneAhead.has(offset)) return false;
    this.#unfinished.push(offset);
    return true;
  }

  /** The driver stands here: what lies before and was not received is not in the log. */
  reach(position: number): void {
    if (position > this.#next) this.#next = position;
  }

  complete(offset: number): void {
    if (this.#unfinished[this.#head] === offset) this.#advance();
    else this.#completeAhead(offset);
  }

  /** The records from here on are received again, those that are done excepted. */
  rewindTo(offset: number): void {
    const from = this.#indexOf(offset);
    this.#unfinished.length = Math.max(from, this.#head);
    if (offset < this.#next) this.#next = offset;
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
    if (this.#doneAhead.size > 0) this.#forgetBelow(this.watermark);
  }

  #completeAhead(offset: number): void {
    if (offset < this.watermark) return;
    const index = this.#indexOf(offset);
    if (this.#unfinished[index] === offset) this.#unfinished.splice(index, 1);
    this.#doneAhead.add(offset);
  }

  #forgetBelow(watermark: number): void {
    for (const offset of this.#doneAhead) if (offset < watermark) this.#doneAhead.delete(offset);
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

/** Cutting the finished ones off costs a copy of the rest: worth it now and then only. */
const FINISHED_KEPT = 1_024;
