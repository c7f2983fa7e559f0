import { CommitWindow } from './commit-window.js';
import { nextOffset, recordsBehind, type PartitionOffsets } from './partition-lag.js';

/** Figures of one poll of a group in a partition. */
export interface PolledOffsets extends PartitionOffsets {
  /** Changes when a topic is deleted and created again; null if the broker has no topic ids. */
  readonly topicId: string | null;
}

/** What the polls of a group in a partition have found. */
export class PartitionHistory {
  readonly window = new CommitWindow();
  /** Timestamp of the record at an offset, which was read because no session holds the record. */
  readTimestamp: { readonly offset: number; readonly timestamp: number } | undefined;
  #offsets: PolledOffsets | undefined;
  /** The offset that was committed for a topic that was deleted. */
  #obsoleteCommit: number | undefined;

  add(at: number, polled: PolledOffsets): void {
    if (this.#offsets && isOtherLog(this.#offsets, polled)) this.#forget(polled.committed);
    if (polled.committed !== this.#obsoleteCommit) this.#obsoleteCommit = undefined;
    this.#offsets =
      this.#obsoleteCommit === undefined
        ? polled
        : { ...polled, committed: undefined, startsAt: 'low' };
    this.window.add({ at, committed: this.next, records: this.records });
  }

  /** Offsets of the last poll. */
  get offsets(): PolledOffsets {
    return this.#offsets ?? NO_OFFSETS;
  }

  /** The offset at which the group goes on. */
  get next(): number {
    return nextOffset(this.offsets);
  }

  get records(): number {
    return recordsBehind(this.offsets);
  }

  #forget(committed: number | undefined): void {
    this.window.clear();
    this.readTimestamp = undefined;
    this.#obsoleteCommit = committed;
  }
}

const NO_OFFSETS: PolledOffsets = {
  low: 0,
  high: 0,
  committed: undefined,
  startsAt: 'low',
  topicId: null,
};

/** Without topic ids, only a watermark that goes back shows a recreated topic. */
function isOtherLog(before: PolledOffsets, now: PolledOffsets): boolean {
  return before.topicId !== now.topicId || (now.topicId === null && now.high < before.high);
}
