import type { TopicPartition } from '../../../port/record.js';
import { partitionKey } from '../../../port/topic-partition.js';
import { OwnedPartition } from '../fetching/owned-partition.js';

/**
 * The partitions that this session owns, and the paused partitions. A pause is kept when the
 * partition is revoked: if the partition is assigned again, it is still paused.
 */
export class OwnedPartitions {
  readonly #byKey = new Map<string, OwnedPartition>();
  readonly #pauses = new Set<string>();

  [Symbol.iterator](): IterableIterator<OwnedPartition> {
    return this.#byKey.values();
  }

  get(partition: TopicPartition): OwnedPartition | undefined {
    return this.#byKey.get(partitionKey(partition));
  }

  list(): readonly TopicPartition[] {
    return [...this.#byKey.values()].map(({ topic, partition }) => ({ topic, partition }));
  }

  /**
   * Returns whether this object stands for the current assignment of the partition. A later
   * assignment of the same partition has another object.
   */
  isCurrent(partition: OwnedPartition): boolean {
    return this.get(partition) === partition;
  }

  add({ topic, partition }: TopicPartition, topicId: string | null): OwnedPartition {
    const owned = new OwnedPartition(topic, partition, topicId);
    owned.paused = this.#pauses.has(partitionKey(owned));
    this.#byKey.set(partitionKey(owned), owned);
    return owned;
  }

  remove(partition: OwnedPartition): void {
    partition.beginRemoval();
    partition.dropChunks();
    if (this.isCurrent(partition)) this.#byKey.delete(partitionKey(partition));
  }

  pause(partitions: readonly TopicPartition[]): void {
    for (const { topic, partition } of partitions) {
      this.#pauses.add(partitionKey({ topic, partition }));
      const owned = this.get({ topic, partition });
      if (owned) owned.paused = true;
    }
  }

  resume(partitions: readonly TopicPartition[]): void {
    for (const partition of partitions) {
      this.#pauses.delete(partitionKey(partition));
      const owned = this.get(partition);
      if (owned) owned.paused = false;
    }
  }

  /** Returns the owned partitions that are paused. */
  paused(): readonly TopicPartition[] {
    return this.list().filter((partition) => this.#pauses.has(partitionKey(partition)));
  }
}

/** Returns a signal that aborts when the last of the partitions is removed. */
export function whenAllRemoved(partitions: readonly OwnedPartition[]): AbortSignal {
  const control = new AbortController();
  let remaining = partitions.length;
  for (const { removalSignal } of partitions)
    removalSignal.addEventListener(
      'abort',
      () => {
        if (--remaining === 0) control.abort(removalSignal.reason);
      },
      { once: true },
    );
  return control.signal;
}
