import type { AdminSession, Watermarks } from '@nest-event-bus/broker';
import { belongsTo, ReadLetter, type LetterOwner } from '../letters/read-letters.js';
import { OffsetSet } from './offset-set.js';

export interface ScanLimits {
  readonly letters: number;
  readonly bytes: number;
}

type Reader = Pick<AdminSession, 'readRange'>;

/** Counts the open letters of one binding in one partition of its dead-letter topic. */
export class PartitionDepth {
  /** Letters that were replayed or given up. */
  readonly #decided = new OffsetSet();
  /** Letters of other groups, and offsets without a letter. */
  readonly #notOurs = new OffsetSet();
  #low = 0;
  #high = 0;
  #scannedTo = 0;
  #isAtEnd = false;
  #oldest: { readonly offset: number; readonly at: number } | undefined;

  constructor(
    private readonly owner: LetterOwner,
    readonly partition: number,
  ) {}

  moveTo({ low, high }: Watermarks): void {
    this.#isAtEnd &&= high === this.#high;
    this.#low = low;
    this.#high = high;
    this.#scannedTo = Math.max(this.#scannedTo, low);
    this.#decided.dropBefore(low);
    this.#notOurs.dropBefore(low);
  }

  /** Applies what the ledger says about a letter. */
  decide(offset: number, isOpen: boolean): void {
    if (offset < this.#low || this.#notOurs.has(offset)) return;
    if (isOpen) this.#decided.remove(offset);
    else this.#decided.add(offset);
  }

  /** Applies the replay of all letters from `from` to `to` (exclusive). */
  decideRange(from: number, to: number): void {
    for (let next = Math.max(from, this.#low); next < to;) {
      const first = this.#notOurs.endOfRangeAt(next);
      next = Math.min(to, this.#notOurs.firstFrom(first));
      this.#decided.add(first, next);
    }
  }

  /** Reads further letters, within the limits. Returns how many. */
  async scan(admin: Reader, { letters, bytes }: ScanLimits): Promise<number> {
    if (this.#isAtEnd || this.#scannedTo >= this.#high) return 0;
    let read = 0;
    let readBytes = 0;
    const { topic } = this.owner.dlt;
    for await (const record of admin.readRange(
      topic,
      this.partition,
      this.#scannedTo,
      this.#high,
    )) {
      this.#skipTo(record.offset);
      const letter = new ReadLetter(record);
      if (!belongsTo(letter, this.owner)) this.#exclude(record.offset, record.offset + 1);
      this.#scannedTo = record.offset + 1;
      read++;
      readBytes += record.sizeInBytes;
      if (read >= letters || readBytes >= bytes) return read;
    }
    // What is left are markers of transactions, or records of an open or aborted transaction.
    this.#isAtEnd = true;
    if (!(await this.#hasRecords(admin))) this.#skipTo(this.#high);
    return read;
  }

  /** The open letters. An upper bound while the partition is not read to its end. */
  get open(): number {
    const unread = this.isExact ? 0 : this.#high - this.#scannedTo;
    const known = this.#scannedTo - this.#low;
    // The ledger may know letters that were not scanned yet.
    return Math.max(0, known + unread - this.#decided.size - this.#notOurs.size);
  }

  get isExact(): boolean {
    return this.#isAtEnd || this.#scannedTo >= this.#high;
  }

  /** Resolves with the time of the oldest open letter; undefined if there is none. */
  async oldest(admin: Reader): Promise<number | undefined> {
    const offset = this.#firstOpen();
    if (offset >= this.#scannedTo) return undefined;
    if (this.#oldest?.offset === offset) return this.#oldest.at;
    const { topic } = this.owner.dlt;
    for await (const record of admin.readRange(topic, this.partition, offset, offset + 1)) {
      this.#oldest = { offset, at: new ReadLetter(record).facts.dltTimestamp };
      return this.#oldest.at;
    }
    return undefined;
  }

  #firstOpen(): number {
    let offset = this.#low;
    for (let next = -1; next !== offset;) {
      next = offset;
      offset = this.#notOurs.endOfRangeAt(this.#decided.endOfRangeAt(offset));
    }
    return offset;
  }

  #skipTo(offset: number): void {
    this.#exclude(this.#scannedTo, offset);
    this.#scannedTo = Math.max(this.#scannedTo, offset);
  }

  #exclude(from: number, to: number): void {
    for (let offset = from; offset < to; offset++) this.#decided.remove(offset);
    this.#notOurs.add(from, to);
  }

  async #hasRecords(admin: Reader): Promise<boolean> {
    const { topic } = this.owner.dlt;
    const options = { isolation: 'read_uncommitted' } as const;
    const range = [topic, this.partition, this.#scannedTo, this.#high] as const;
    for await (const _ of admin.readRange(...range, options)) return true;
    return false;
  }
}
