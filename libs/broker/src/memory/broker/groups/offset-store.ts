import type { CommittedOffset, OffsetCommit } from '../../../port/consumer.js';
import type { TopicPartition } from '../../../port/record.js';
import { partitionKey } from '../../../port/topic-partition.js';

export type StoredOffset = TopicPartition & CommittedOffset;

interface StoredEntry {
  readonly offset: StoredOffset;
  /** The position in the order in which commits arrived. */
  readonly sequence: number;
}

/** Committed offsets of a group, and offsets of its open transactions. */
export class OffsetStore {
  readonly #committed = new Map<string, StoredEntry>();
  readonly #pending = new Map<number, Map<string, StoredEntry>>();
  #lastSequence = 0;

  get isEmpty(): boolean {
    return this.#committed.size === 0 && this.#pending.size === 0;
  }

  commit(offset: OffsetCommit): void {
    this.#committed.set(partitionKey(offset), this.#entryOf(offset));
  }

  find(partition: TopicPartition): StoredOffset | undefined {
    return this.#committed.get(partitionKey(partition))?.offset;
  }

  all(): readonly StoredOffset[] {
    return [...this.#committed.values()].map(({ offset }) => offset);
  }

  /** Deletes the offset of a partition, including those of open transactions. */
  delete({ topic, partition }: TopicPartition): void {
    this.#deleteMatching((offset) => offset.topic === topic && offset.partition === partition);
  }

  deleteTopic(topic: string): void {
    this.#deleteMatching((offset) => offset.topic === topic);
  }

  clear(): void {
    this.#committed.clear();
  }

  prepare(producerId: number, offset: OffsetCommit): void {
    const pending = this.#pending.get(producerId) ?? new Map<string, StoredEntry>();
    this.#pending.set(producerId, pending.set(partitionKey(offset), this.#entryOf(offset)));
  }

  /**
   * Applies or drops the offsets of a transaction. An offset that was committed after the
   * transaction stored its own is newer, and stays.
   */
  endTransaction(producerId: number, outcome: 'commit' | 'abort'): void {
    const pending = this.#pending.get(producerId);
    this.#pending.delete(producerId);
    if (outcome === 'abort' || !pending) return;
    for (const [key, entry] of pending) {
      const { sequence = 0 } = this.#committed.get(key) ?? {};
      if (sequence < entry.sequence) this.#committed.set(key, entry);
    }
  }

  isPending(partition: TopicPartition): boolean {
    const key = partitionKey(partition);
    return [...this.#pending.values()].some((pending) => pending.has(key));
  }

  #deleteMatching(isGone: (offset: StoredOffset) => boolean): void {
    for (const offsets of [this.#committed, ...this.#pending.values()])
      for (const [key, { offset }] of offsets) if (isGone(offset)) offsets.delete(key);
  }

  #entryOf(offset: OffsetCommit): StoredEntry {
    return { offset: toStoredOffset(offset), sequence: ++this.#lastSequence };
  }
}

/** Converts an offset as a broker does: missing metadata becomes an empty text, never null. */
function toStoredOffset({
  topic,
  partition,
  offset,
  metadata,
  leaderEpoch,
}: OffsetCommit): StoredOffset {
  return { topic, partition, offset, metadata: metadata ?? '', leaderEpoch: leaderEpoch ?? -1 };
}
