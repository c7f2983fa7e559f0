import type { AdminSession, Watermarks } from '@nest-event-bus/broker';
import type { DeadLetterDepth } from '../../model/states/lag.js';
import { ledgerKeys } from '../ledger/ledger-entry.js';
import { readLedger, type StoredEntry } from '../ledger/read-ledger.js';
import type { LetterOwner } from '../letters/read-letters.js';
import { PartitionDepth } from './partition-depth.js';

/** A topic as the last poll has found it. */
export interface TopicAtPoll {
  readonly id: string | null;
  readonly watermarks: readonly Watermarks[];
}

export interface DepthUpdate {
  readonly admin: Pick<AdminSession, 'readRange'>;
  readonly deadLetters: TopicAtPoll;
  /** Undefined if the ledger does not exist, so that all letters are open. */
  readonly ledger: TopicAtPoll | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The limits of what one update reads, so that a large topic never delays a poll for long. */
const MOST_ENTRIES = 10_000;
const MOST_LETTERS = 1_000;
const MOST_BYTES = 4 * 1024 * 1024;
const UNKNOWN_ID = '-';

/**
 * Follows the open dead letters of one binding. Each letter and each entry of the ledger is read
 * once, in small parts, and only positions are kept.
 */
export class OpenLetters {
  #partitions = new Map<number, PartitionDepth>();
  /** The first entry of each ledger partition that was not read. */
  readonly #ledgerEnds = new Map<number, number>();
  #topicId: string | null | undefined;

  constructor(private readonly owner: LetterOwner) {}

  async update({ admin, deadLetters, ledger, now }: DepthUpdate): Promise<DeadLetterDepth> {
    this.#beginAgainIfRecreated(deadLetters);
    for (const marks of deadLetters.watermarks) this.#at(marks.partition).moveTo(marks);
    const isLedgerRead = !ledger || (await this.#readLedger(admin, ledger));
    let left = MOST_LETTERS;
    for (const partition of this.#partitions.values())
      if (left > 0) left -= await partition.scan(admin, { letters: left, bytes: MOST_BYTES });
    const all = [...this.#partitions.values()];
    return {
      topic: this.owner.dlt.topic,
      records: all.reduce((sum, { open }) => sum + open, 0),
      oldestSeconds: await this.#oldestSeconds(admin, now),
      isExact: isLedgerRead && all.every(({ isExact }) => isExact),
    };
  }

  /** Returns false if entries are left for the next update. */
  async #readLedger(admin: DepthUpdate['admin'], { watermarks }: TopicAtPoll): Promise<boolean> {
    const { ledgerTopic } = this;
    let left = MOST_ENTRIES;
    for (const { partition, high } of watermarks) {
      const from = this.#ledgerEnds.get(partition) ?? 0;
      if (from >= high) continue;
      const range = { topic: ledgerTopic, partition, from, to: high };
      for await (const stored of readLedger(admin, range)) {
        if (left-- <= 0) return false;
        this.#apply(stored);
        this.#ledgerEnds.set(partition, stored.offset + 1);
      }
      this.#ledgerEnds.set(partition, high);
    }
    return true;
  }

  get ledgerTopic(): string {
    return `${this.owner.dlt.topic}.ledger`;
  }

  #apply({ key, entry }: StoredEntry): void {
    const topicId = this.#topicId ?? UNKNOWN_ID;
    for (const [partition, depth] of this.#partitions) {
      const prefix = ledgerKeys.letter(topicId, partition, 0).slice(0, -1);
      if (key.startsWith(prefix)) {
        const isOpen = entry?.kind !== 'letter' || entry.status === 'open';
        depth.decide(Number(key.slice(prefix.length)), isOpen);
      } else if (
        entry?.kind === 'replayed' &&
        key.startsWith(ledgerKeys.replayed(topicId, partition, 0).slice(0, -1))
      )
        for (const [from, count] of entry.ranges) depth.decideRange(from, from + count);
    }
  }

  async #oldestSeconds(admin: DepthUpdate['admin'], now: number): Promise<number | undefined> {
    let oldest: number | undefined;
    for (const partition of this.#partitions.values()) {
      const at = await partition.oldest(admin);
      if (at !== undefined) oldest = Math.min(oldest ?? at, at);
    }
    return oldest === undefined ? undefined : Math.max(0, now - oldest) / 1_000;
  }

  /** The ledger is read again too, because its entries name the id of the topic. */
  #beginAgainIfRecreated({ id, watermarks }: TopicAtPoll): void {
    const known = new Set(watermarks.map(({ partition }) => partition));
    if (id === this.#topicId && [...this.#partitions.keys()].every((each) => known.has(each)))
      return;
    this.#topicId = id;
    this.#partitions = new Map();
    this.#ledgerEnds.clear();
  }

  #at(partition: number): PartitionDepth {
    const known = this.#partitions.get(partition);
    if (known) return known;
    const created = new PartitionDepth(this.owner, partition);
    this.#partitions.set(partition, created);
    return created;
  }
}
