import type { TopicPartition } from '../../../port/record.js';
import { OwnedPartition } from '../fetching/owned-partition.js';

const nameOf = ({ topic, partition }: TopicPartition): string => `${topic}/${partition}`;

/** The partitions that are ours now, and the pauses, which outlive ownership. */
export class Ownership {
  readonly #owned = new Map<string, OwnedPartition>();
  readonly #pauses = new Set<string>();

  [Symbol.iterator](): IterableIterator<OwnedPartition> {
    return this.#owned.values();
  }

  get(partition: TopicPartition): OwnedPartition | undefined {
    return this.#owned.get(nameOf(partition));
  }

  list(): readonly TopicPartition[] {
    return [...this.#owned.values()].map(({ topic, partition }) => ({ topic, partition }));
  }

  /** Whether this very assignment still lasts: a later one of the same partition is another. */
  holds(partition: OwnedPartition): boolean {
    return this.get(partition) === partition;
  }

  add({ topic, partition }: TopicPartition, topicId: string | null): OwnedPartition {
    const owned = new OwnedPartition(topic, partition, topicId);
    owned.paused = this.#pauses.has(nameOf(owned));
    this.#owned.set(nameOf(owned), owned);
    return owned;
  }

  remove(partition: OwnedPartition): void {
    partition.leave();
    partition.dropChunks();
    if (this.holds(partition)) this.#owned.delete(nameOf(partition));
  }

  pause(partitions: readonly TopicPartition[]): void {
    for (const { topic, partition } of partitions) {
      this.#pauses.add(nameOf({ topic, partition }));
      const owned = this.get({ topic, partition });
      if (owned) owned.paused = true;
    }
  }

  resume(partitions: readonly TopicPartition[]): void {
    for (const partition of partitions) {
      this.#pauses.delete(nameOf(partition));
      const owned = this.get(partition);
      if (owned) owned.paused = false;
    }
  }

  /** Of the partitions that are ours. */
  paused(): readonly TopicPartition[] {
    return this.list().filter((partition) => this.#pauses.has(nameOf(partition)));
  }
}
